package meter

import (
	"cmp"
	"maps"
	"math"
	"slices"
	"time"

	"knee/data"
	"knee/profile/launch"
)

// Meter turns observations into a step time. Only a larger step of the metered rank ends a
// step; a loss on a separate line belongs to the step before.
type Meter struct {
	settings data.TrialSettings
	config   data.Config
	bars     bars
	ranks    ranks
	series   series
	curve    curve
	next     int // number of steps at which to decide again

	first, last time.Time // times of the first and the latest step
	step        float64   // the last counter; NaN before the first
	seen        int       // observations
	peak        float64   // bytes, largest reported peak of any rank; 0 if none
	device      float64   // bytes of its device; 0 if not known
	outOfMemory string    // the last line that says so
	survived    int       // steps of the metered rank since that line
}

// Reading is the result of a Meter so far. Times are in seconds.
type Reading struct {
	StepTime float64 // mean of the steady steps
	SD       float64 // standard deviation of single steps
	SE       float64 // standard error of StepTime: ± 2 SE is its 95 % interval; +Inf if not known
	SyncTime float64 // mean; 0 if not reported
	Steps    int     // steady steps behind the mean
	Warmup   int     // leading steps dropped
	Hurried  bool    // fewer were dropped than the study asks for, to keep FewestSteps

	PeakMemory   float64 // bytes, largest peak of any rank; 0 if not known
	DeviceMemory float64 // bytes of its device; 0 if not known
}

// FewestSteps is the least number of steady steps: the variance of fewer is unknown.
const FewestSteps = 3

// leastSeconds is the least measured time in seconds: a shorter one can fall between two
// disturbances of the machine, so that its steps agree on a wrong mean.
const leastSeconds = 0.5

// New returns a meter for trials of c. rank is data.Metrics.Rank.
func New(s data.TrialSettings, rank int, c data.Config) *Meter {
	return &Meter{settings: s, config: c, ranks: newRanks(rank, c, false), step: math.NaN()}
}

// OfLog returns a meter for the whole log of a job, which may have been down in between.
func OfLog(rank int, c data.Config) *Meter {
	m := New(data.TrialSettings{Warmup: -1, MinSteps: math.MaxInt}, rank, c)
	m.ranks.log = true
	return m
}

// Add takes one observation and reports whether the trial can be ended.
func (m *Meter) Add(o launch.Observation) (enough bool) {
	m.peak, m.device = max(m.peak, o.PeakMemory), max(m.device, o.DeviceMemory)
	if o.OutOfMemory != "" {
		m.outOfMemory, m.survived = o.OutOfMemory, 0
	}
	if m.bars.take(o) {
		m.ranks, m.series, m.seen, m.next = newRanks(m.ranks.asked, m.config, m.ranks.log), series{}, 0, 0
	}
	if m.Beside(o) {
		return false
	}
	if o.OfStep() {
		if m.seen++; m.seen == 1 {
			m.first = o.At
		}
	} else if math.IsNaN(o.Loss) && math.IsNaN(o.GradSqr) {
		return false // of memory
	}
	one, timed, mine := m.ranks.take(o, &m.series)
	if mine {
		if math.IsNaN(o.Step) {
			o.Step = m.step
		}
		m.step = o.Step
		m.curve.add(o)
	}
	if !timed {
		return false
	}
	m.survived++
	m.series.add(o.At, one)
	m.last = o.At
	return m.enough()
}

// Lengths is the number of lengths (steps) of progress bars.
func (m *Meter) Lengths() int { return len(m.bars.all) }

// Beside reports whether an observation is of another progress bar than the steps.
func (m *Meter) Beside(o launch.Observation) bool { return o.Total > 0 && o.Total != m.bars.metered }

// enough decides whether to stop. It checks after the steps have grown by 1.25 to 2 times, by
// the precision still missing: a check after every step would stop at a chance run.
func (m *Meter) enough() bool {
	n := m.series.steps
	if limit := m.settings.MaxSeconds; m.looked() >= limit {
		steady := n - max(m.settings.Warmup, 1)
		if steady >= FewestSteps || m.looked() >= 2*limit && n > FewestSteps {
			return true
		}
	}
	if n < m.next || n <= m.settings.MinSteps || m.series.elapsed < leastSeconds {
		return false
	}
	r := m.Read()
	precision := 2 * r.SE / r.StepTime
	if r.Steps >= m.settings.MinSteps && precision <= m.settings.RelPrecision {
		return true
	}
	growth := math.Pow(precision/m.settings.RelPrecision, 2)
	m.next = int(math.Ceil(float64(n) * math.Min(math.Max(growth, 1.25), 2)))
	return false
}

// looked is the seconds measured, more than the steps' if not all are reported.
func (m *Meter) looked() float64 {
	return math.Max(m.series.elapsed, m.last.Sub(m.first).Seconds())
}

// OutOfMemory is the last line that says so; empty if the trial took two more steps.
func (m *Meter) OutOfMemory() string {
	if m.survived > 1 {
		return ""
	}
	return m.outOfMemory
}

// Shortest is the seconds of the shortest batch of steps, also warm-up; +Inf without any.
func (m *Meter) Shortest() float64 {
	least := math.Inf(1)
	for _, b := range m.series.batches {
		least = min(least, b.mean())
	}
	return least
}

// Read returns the result so far; Steps is 0 without any steady step.
func (m *Meter) Read() Reading {
	r := Reading{SE: math.Inf(1), PeakMemory: m.peak, DeviceMemory: m.device}
	dropped, steady, hurried := m.steady()
	r.Warmup, r.Hurried = total(dropped).n, hurried
	r.Steps, r.StepTime, r.SD, r.SyncTime = summary(steady)
	r.SE = math.Hypot(standardError(steady), rounding(total(steady), r.SD))
	return r
}

// steady splits off the warm-up; hurried: less of it than the study asks for.
func (m *Meter) steady() (dropped, steady []batch, hurried bool) {
	bs := m.series.batches
	var drop int
	if asked := m.settings.Warmup; asked < 0 {
		drop = warmup(bs)
	} else {
		per := max(m.series.per, 1) // 0 before the first step
		drop = (asked + per - 1) / per
		if left := max(1, len(bs)-FewestSteps); drop > left {
			drop, hurried = left, true
		}
	}
	drop = min(drop, len(bs))
	return bs[:drop], bs[drop:], hurried
}

// SeenOutside sets the memory (bytes) as measured from outside, if the trial did not report
// it. For a GPU it includes the driver's context and the allocator's cache.
func (m *Meter) SeenOutside(peak, device float64) {
	m.peak, m.device = cmp.Or(m.peak, peak), cmp.Or(m.device, device)
}

// Moved returns the number of steps of all ranks, without repeated counters.
func (m *Meter) Moved() int { return m.ranks.moved }

func (m *Meter) Observed() int { return m.seen }

// Ranks returns the mean step time of every rank that was distinguished.
func (m *Meter) Ranks() []RankTime {
	return slices.SortedFunc(maps.Values(m.ranks.sums), func(a, b RankTime) int { return cmp.Compare(a.Rank, b.Rank) })
}

// Curve returns the training curve of a trial, nil without loss and gradients.
func (m *Meter) Curve(trial int) []data.CurvePoint { return m.curve.points(m.config, trial) }
