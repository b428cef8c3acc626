package profile

import (
	"math"
	"time"

	"knee/data"
	"knee/profile/launch"
)

// Meter turns the steps of a running trial into its step time.
//
// The first steps of a training run are slow: kernels are compiled, caches
// filled, pipelines primed. With Warmup < 0 the meter drops as many leading
// steps as MSER does (White, "An effective truncation heuristic for bias
// reduction in simulation output", Simulation 69, 1997): the truncation that
// minimises the standard error of the mean of the rest, at most half of all
// steps, and always the first.
//
// The trial is steady when the 95 % confidence interval of the mean step
// time is narrow enough. Consecutive steps are not independent (a queue that
// is full stays full), so the interval comes from the means of batches of
// steps, not from the steps themselves.
type Meter struct {
	settings data.TrialSettings
	samples  float64 // per step, to turn throughput into time
	steps    []launch.Observation
	times    []float64 // seconds of each step that has one
	syncs    []float64 // seconds, NaN where not reported; parallel to times
	elapsed  float64   // Σ times
	nextLook int       // decide again at this many steps

	begun   time.Time          // when the first observation was made
	counted launch.Observation // the last that had a step counter
}

// Reading is what a Meter knows so far. Times are in seconds.
type Reading struct {
	StepTime float64 // mean of the steady steps
	SD       float64 // standard deviation of single steps
	SyncTime float64 // mean; 0 if not reported
	Steps    int     // steady steps behind the mean
	Warmup   int     // leading steps dropped
	RelError float64 // half-width of the 95 % interval of StepTime relative to it; +Inf if not known
}

// minTimedSteps is the least number of steady steps that make a
// measurement: with fewer there is no spread to speak of.
const minTimedSteps = 3

// minSeconds is the least time a trial is looked at. A shorter look can fall
// between two disturbances of a machine, and its steps then agree with one
// another and not with the truth.
const minSeconds = 0.5

// NewMeter returns a meter for trials of c.
func NewMeter(s data.TrialSettings, c data.Config) *Meter {
	return &Meter{settings: s, samples: c.SamplesPerStep(), counted: launch.Observation{Step: math.NaN()}}
}

// Add takes one observation and reports whether the trial has been measured
// well enough to be ended.
func (m *Meter) Add(o launch.Observation) (enough bool) {
	if o.StepTime > 0 && o.StepTime == m.counted.StepTime && o.Step == m.counted.Step {
		return false // a progress bar that has drawn itself again without having moved
	}
	if len(m.steps) == 0 {
		m.begun = o.At
	}
	t := m.stepTime(o)
	if math.IsNaN(o.Step) {
		o.Step = m.counted.Step // a loss on a line of its own is that of the step before
	} else {
		m.counted = o
	}
	m.steps = append(m.steps, o)
	if math.IsNaN(t) {
		return false
	}
	m.times = append(m.times, t)
	m.syncs = append(m.syncs, o.SyncTime)
	m.elapsed += t
	if m.settings.MaxSeconds > 0 && m.looked(o) >= m.settings.MaxSeconds && len(m.times) > 2*minTimedSteps {
		return true
	}
	if len(m.times) < max(m.nextLook, m.settings.MinSteps) {
		return false
	}
	m.nextLook = len(m.times) + max(5, len(m.times)/10) // looking costs O(n)
	if m.elapsed < minSeconds {
		return false
	}
	r := m.Read()
	return r.Steps >= m.settings.MinSteps && r.RelError <= m.settings.RelPrecision
}

// looked returns the seconds the trial has been looked at when o was made.
// Where only every twentieth step is reported these are many more than those
// of the steps themselves.
func (m *Meter) looked(o launch.Observation) float64 {
	return math.Max(m.elapsed, o.At.Sub(m.begun).Seconds())
}

// stepTime returns the seconds of a step: what the trial says, else what
// follows from its throughput, else the time since the step counted before.
// The last is what a bare step counter allows; NaN if there is none before.
func (m *Meter) stepTime(o launch.Observation) float64 {
	switch {
	case o.StepTime > 0:
		return o.StepTime
	case o.Throughput > 0 && m.samples > 0:
		return m.samples / o.Throughput
	}
	n := o.Step - m.counted.Step
	dt := o.At.Sub(m.counted.At).Seconds()
	if !(n > 0) || !(dt > 0) {
		return math.NaN()
	}
	return dt / n
}

// Read returns what is known so far; Steps is 0 if that is nothing.
func (m *Meter) Read() Reading {
	drop := m.settings.Warmup
	if drop < 0 {
		drop = mser(m.times)
	}
	if drop >= len(m.times) {
		return Reading{RelError: math.Inf(1), Warmup: drop}
	}
	steady := m.times[drop:]
	mean, sd := meanSD(steady)
	if sd < 1e-9*mean {
		sd = 0 // alike but for the rounding of their sum
	}
	r := Reading{StepTime: mean, SD: sd, Steps: len(steady), Warmup: drop, RelError: math.Inf(1)}
	if h := batchHalfWidth(steady); mean > 0 {
		r.RelError = h / mean
	}
	if sync, _ := meanSD(m.syncs[drop:]); sync >= 0 {
		r.SyncTime = sync
	}
	return r
}

// mser returns how many leading values to drop, by the rule MSER on batches
// of one: the d in 1…n/2 that minimises Σ(x−mean)²/(n−d)² over the rest.
func mser(x []float64) int {
	n := len(x)
	if n < 2 {
		return 0
	}
	best, at := math.Inf(1), 1
	var sum, sq float64
	for i := n - 1; i >= 1; i-- { // the rest grows from its end
		sum += x[i]
		sq += x[i] * x[i]
		k := float64(n - i)
		if i > n/2 || k < 2 {
			continue
		}
		if score := (sq - sum*sum/k) / (k * k); score <= best {
			best, at = score, i
		}
	}
	return at
}

// meanSD returns mean and standard deviation; NaNs make both NaN.
func meanSD(x []float64) (mean, sd float64) {
	if len(x) == 0 {
		return math.NaN(), 0
	}
	for _, v := range x {
		mean += v
	}
	mean /= float64(len(x))
	if len(x) < 2 {
		return mean, 0
	}
	for _, v := range x {
		sd += (v - mean) * (v - mean)
	}
	return mean, math.Sqrt(sd / float64(len(x)-1))
}

// batches is the number of batch means behind an interval, and t975 the
// 97.5 % quantile of Student's t with one degree of freedom less.
const (
	batches = 10
	t975    = 2.262
)

// batchHalfWidth returns the half-width of the 95 % confidence interval of
// the mean by the method of batch means (Law, "Simulation Modeling and
// Analysis", §9.5.3): ten batches of consecutive values. It is infinite for
// fewer than twenty values.
func batchHalfWidth(x []float64) float64 {
	size := len(x) / batches
	if size < 2 {
		return math.Inf(1)
	}
	x = x[len(x)-size*batches:]
	means := make([]float64, batches)
	for i := range means {
		means[i], _ = meanSD(x[i*size : (i+1)*size])
	}
	_, sd := meanSD(means)
	return t975 * sd / math.Sqrt(batches)
}
