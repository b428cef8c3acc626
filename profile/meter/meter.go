package meter

import (
	"cmp"
	"fmt"
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
	finer       bool      // its progress bar moved by a part of a batch
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
	Told     float64 // mean that the lines tell, if StepTime is by their arrival; else 0

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
		m.ranks, m.series, m.seen, m.next, m.finer = newRanks(m.ranks.asked, m.config, m.ranks.log), series{}, 0, 0, false
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
	m.finer = m.finer || !one.fell && o.Step < o.Total && math.Mod(one.count, m.config.LocalBatch) > 0 // at its end a batch may be smaller
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

// looked is the seconds measured: between arrivals, as told times may be smoothed from a slow
// first step; those told if all lines came at once.
func (m *Meter) looked() float64 {
	if seconds := m.last.Sub(m.first).Seconds(); seconds > 0 {
		return seconds
	}
	return m.series.elapsed
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
	all, least, most := m.arrivals(steady)
	off := all.counted > most && all.counted <= math.Sqrt2*most || all.counted < least && all.counted >= least/2
	if off && math.Abs(all.span-all.counted) > m.settings.RelPrecision*all.counted && !m.ranks.log && !m.ranks.async {
		steady = slices.Clone(steady)
		for i := range steady {
			steady[i].sum = steady[i].span
		}
		r.Told, r.StepTime, r.SE = r.StepTime, r.StepTime*all.span/all.counted, standardError(steady)
	}
	return r
}

// arrivals sums batches, whose steps took the seconds from least to most by the arrival of
// their lines: lines may arrive in bursts, and a span is known up to the longest pause.
func (m *Meter) arrivals(steady []batch) (all batch, least, most float64) {
	if all = total(steady); m.ranks.want == data.AllRanks {
		all.counted = math.NaN() // a round is a step of every rank
	}
	return all, all.span - m.series.pause, all.span + m.series.pause
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

// Contradiction says how the told times of the steady steps differ from the times at which their
// lines arrived, empty if they agree up to a factor nearer to 1 than to 2; took is the seconds of
// the trial, 0 if not known. A trainer that simulates has any times. Times that are too short are
// said if most of the time between lines would be outside of steps.
//
// Of a burst, from a buffer or a log that is read now and then, those that come first together
// tell of steps before. Ranks that cannot be told apart and print no counter may all have printed
// every step.
func (m *Meter) Contradiction(took float64) string {
	_, steady, _ := m.steady()
	s := &m.series
	all, least, most := m.arrivals(steady)
	if all.n < FewestSteps || s.last.IsZero() {
		return ""
	}
	ranks := 1.0
	if math.IsNaN(all.counted) && m.ranks.current == launch.UnknownRank {
		ranks = float64(m.config.Workers)
	}
	switch {
	case took > 0 && all.lines > math.Sqrt2*max(took, most)*ranks:
		return fmt.Sprintf("its %d step times add up to %.3g s, but it took %.3g s%s", all.n, all.lines, took, s.mistake(all.lines/took))
	case all.told > math.Sqrt2*most*ranks:
		return fmt.Sprintf("its step times add up to %.3g s, but their lines came within %.3g s%s", all.told, most, s.mistake(all.told/most))
	case all.counted > math.Sqrt2*most:
		return fmt.Sprintf("its step times add up to %.3g s for the steps that it counts, but their lines came within %.3g s: "+
			"is a step time that of several steps, or does the counter not count steps", all.counted, most)
	case all.counted < least/2:
		return fmt.Sprintf("its steps take %.3g s of the %.3g s in which their lines came: do the times leave out a part, such as "+
			"waiting for the GPU (torch.cuda.synchronize) or for data, or are they in another unit", all.counted, least)
	case m.bars.metered > 0 && m.config.LocalBatch > 1 && !m.finer:
		return fmt.Sprintf("its progress bar moves by multiples of %g, the batch: does it count samples, so that its rate is not that of steps", m.config.LocalBatch)
	}
	return ""
}

// mistake returns the likely reason for times that are too long by a factor.
func (s *series) mistake(factor float64) string {
	units := []string{"milliseconds: print step_time_ms", "microseconds", "nanoseconds"}
	power := int(math.Round(math.Log10(factor) / 3)) // of 1000, the nearest
	switch {
	case s.rates:
		return ": is the throughput that of one worker (then print worker_throughput), or not in samples/s"
	case power > 0:
		power = min(power, len(units))
		return fmt.Sprintf(": they look like %s, or divide by 1e%d", units[power-1], 3*power)
	}
	return ": a step time is that of one optimizer step, in seconds"
}

// mostPoints is half the maximum of curve points kept per trial.
const mostPoints = 100

// curve keeps at most 2 mostPoints means of as many observations each.
type curve struct {
	per  int // observations per point
	open int // observations in the last point
	sums []curvePoint
}

// curvePoint holds the step, loss, grad_sqr and grad_var of a point.
type curvePoint [4]mean

type mean struct{ sum, n float64 }

func (m *mean) add(v float64) {
	if !math.IsNaN(v) && !math.IsInf(v, 0) {
		m.sum += v
		m.n++
	}
}

func (m mean) value() float64 { return m.sum / m.n }

func (c *curve) add(o launch.Observation) {
	c.per = max(c.per, 1)
	if len(c.sums) == 0 || c.open == c.per {
		if len(c.sums) == 2*mostPoints {
			for i := range mostPoints {
				for k, q := range c.sums[2*i+1] {
					c.sums[i][k] = mean{c.sums[2*i][k].sum + q.sum, c.sums[2*i][k].n + q.n}
				}
			}
			c.sums, c.per = c.sums[:mostPoints], 2*c.per
		}
		c.sums = append(c.sums, curvePoint{})
		c.open = 0
	}
	p := &c.sums[len(c.sums)-1]
	for i, v := range []float64{o.Step, o.Loss, o.GradSqr, o.GradVar} {
		p[i].add(v)
	}
	c.open++
}

func (c *curve) points(config data.Config, trial int) []data.CurvePoint {
	var out []data.CurvePoint
	for _, s := range c.sums {
		p := EmptyPoint(config.Job, trial)
		p.Step, p.Loss, p.GradSqr, p.GradVar = s[0].value(), s[1].value(), s[2].value(), s[3].value()
		if config.LocalBatch > 0 {
			p.GlobalBatch = config.GlobalBatch()
		}
		if !math.IsNaN(p.Step) && !(math.IsNaN(p.Loss) && math.IsNaN(p.GradSqr)) {
			out = append(out, p)
		}
	}
	return out
}

// EmptyPoint returns a point of the curve of a trial with all quantities NaN.
func EmptyPoint(job string, trial int) data.CurvePoint {
	nan := math.NaN()
	return data.CurvePoint{Job: job, Run: fmt.Sprintf("trial-%d", trial), Step: nan, Epoch: nan, Progress: nan,
		Loss: nan, Metric: nan, GlobalBatch: nan, GradSqr: nan, GradVar: nan}
}
