// Package memory predicts the peak memory of the fullest device of a training
// job, and whether a configuration fits.
//
// A physical form divides parameters, gradients, optimizer state, activations
// and logits over tensor and pipeline parallelism and sharding. The factors of
// its terms have priors, which measurements narrow; a Gaussian process over
// configurations has what it misses. A measured peak is an exact observation; a
// configuration without one that ran, or ran out of memory, is censored: below, or
// above, the memory of the device. Without measurements the prior gives an estimate
// with a wide interval.
package memory

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"slices"
	"sync"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/floats/scalar"
	"gonum.org/v1/gonum/stat/distuv"

	"knee/data"
	"knee/internal/quantile"
)

// Model is the memory model of one job in model.json. It is safe for concurrent use.
type Model struct {
	Architecture data.Architecture  `json:"architecture,omitzero"`
	Draws        [][]float64        `json:"draws"`                      // of the posterior, at most maxDraws
	GPU          map[string]float64 `json:"gpu_memory_bytes,omitempty"` // of a device by type, as measured
	Knobs        []knob             `json:"knobs,omitempty"`            // the study's own
	Tokens       [2]float64         `json:"ln_tokens,omitzero"`         // fewest and most of a micro-batch measured
	Failed       []data.Config      `json:"out_of_memory,omitempty"`    // that ran out of memory, and never ran; at most maxRows
	Peaks        []peak             `json:"peaks,omitempty"`            // recorded, at most maxRows

	factors   []factors   // of the draws
	peaks     evidence    // of Peaks
	residuals [][]float64 // of the draws
}

// maxDraws bounds what a file may hold; a fit returns [walkers].
const maxDraws = 1024

// UnmarshalJSON leaves out draws of an earlier version, which had other coordinates.
func (m *Model) UnmarshalJSON(text []byte) error {
	type file Model
	if err := json.Unmarshal(text, (*file)(m)); err != nil {
		return err
	}
	if len(m.Draws) == 0 || len(m.Draws) > maxDraws {
		return fmt.Errorf("%d draws of the memory model, want 1 to %d", len(m.Draws), maxDraws)
	}
	if len(m.Peaks) > maxRows {
		return fmt.Errorf("%d peaks of the memory model, want at most %d", len(m.Peaks), maxRows)
	}
	for _, k := range m.Knobs {
		if (k.Reference > 0) != (len(k.Values) == 0) {
			return fmt.Errorf("knob %q of the memory model without a measured value", k.Name)
		}
	}
	for _, d := range m.Draws {
		if len(d) != coordinates+2*sizeOf(m.Knobs) {
			m.Draws = nil
			break
		}
		if floats.Norm(d, math.Inf(1)) > 100 {
			return errors.New("a coordinate of the memory model beyond ±100, which no fit yields")
		}
	}
	measured := map[string]float64{}
	for t, b := range m.GPU {
		measured[data.GPUTypeOf(t)] = b // earlier versions kept more of its spelling
	}
	m.GPU = measured
	m.count()
	return nil
}

// count computes the factors and residuals of the draws.
func (m *Model) count() {
	rows := make([]observation, len(m.Peaks))
	for i, r := range m.Peaks {
		rows[i] = observation{point: pointOf(r.Config, r.Config.Architecture), ln: r.Ln}
		m.relate(&rows[i].point, r.Config)
	}
	m.peaks = evidenceOf(rows)
	m.factors, m.residuals = make([]factors, len(m.Draws)), make([][]float64, len(m.Draws))
	for i, d := range m.Draws {
		m.factors[i] = factorsOf(d)
		m.residuals[i] = m.peaks.residuals(&m.factors[i])
	}
}

// Fit fits the memory model to measurements of one job: recorded peaks, or whether a
// configuration ran on a device of known memory; without any it is the prior. A zero
// architecture is the most frequent of the measurements. seed is that of the draws.
func Fit(ms []data.Measurement, a data.Architecture, seed int64) *Model {
	return fitUnder(learned().of, ms, a, seed)
}

// fitUnder is [Fit] with a given prior instead of the learned one.
func fitUnder(
	prior func(data.Architecture) [coordinates]Gaussian, ms []data.Measurement, a data.Architecture, seed int64,
) *Model {
	m := &Model{Architecture: a, GPU: map[string]float64{}, Failed: failed(ms)}
	rows, measured := m.observe(ms)
	if n := len(rows); n > maxRows { // evenly spaced
		for i := range maxRows {
			rows[i], measured[i] = rows[i*n/maxRows], measured[i*n/maxRows]
		}
		rows = rows[:maxRows]
	}
	for i, o := range rows {
		if o.ran == 0 {
			m.Peaks = append(m.Peaks, peak{measured[i], o.ln})
		}
	}
	of := prior(m.Architecture)
	own := slices.Repeat([]Gaussian{{0, 1}}, 2*sizeOf(m.Knobs))
	for _, w := range sample(evidenceOf(rows), append(of[:], own...), seed) {
		for i := range w.x {
			w.x[i] = scalar.Round(w.x[i], 6) // as written to a file
		}
		m.Draws = append(m.Draws, w.x)
	}
	m.count()
	return m
}

// observe takes from measurements what they tell of the job, and returns those that tell
// of memory: a peak, or whether a configuration ran.
func (m *Model) observe(ms []data.Measurement) (rows []observation, measured []data.Config) {
	uncounted := false // layers and hidden size leave out experts, whose number is unknown
	given, count := !m.Architecture.Zero(), map[data.Architecture]int{}
	for _, r := range ms {
		uncounted = uncounted || r.EP > 1 && r.Experts == 0 && r.Parameters == 0
		if of := r.Architecture; !given && !of.Zero() {
			if count[of]++; count[of] > count[m.Architecture] {
				m.Architecture = of
			}
		}
		if r.GPUMemory > 0 {
			m.GPU[r.GPUType] = r.GPUMemory
		}
	}
	if uncounted {
		m.Architecture.Hidden = 0
	}
	m.Tokens = [2]float64{math.Inf(1), 0}
	for _, r := range ms {
		c, o := r.Config, observation{capacity: math.Log(m.Capacity(r.GPUType))}
		switch limited := !math.IsInf(o.capacity, 0); {
		case r.LocalBatch <= 0:
			continue // of how many samples is not known
		case r.Status == data.OK && r.PeakMemory > 0:
			o.ln = math.Log(r.PeakMemory)
		case r.Status == data.OK && limited:
			o.ran = 1
		case r.Status == data.OOM && limited:
			o.ran = -1
		default:
			continue
		}
		if c.Architecture.Zero() {
			c.Architecture = m.Architecture
		}
		if uncounted {
			c.Architecture.Hidden = 0
		}
		o.point = pointOf(c, c.Architecture)
		m.Tokens = [2]float64{min(m.Tokens[0], o.tokens), max(m.Tokens[1], o.tokens)}
		rows, measured = append(rows, o), append(measured, c)
	}
	if rows == nil {
		one := pointOf(data.Config{LocalBatch: 1}, m.Architecture).tokens
		m.Tokens = [2]float64{one, one}
	}
	m.Knobs = knobsOf(measured)
	for i, c := range measured {
		m.relate(&rows[i].point, c)
	}
	return rows, measured
}

// failed returns the configurations that ran out of memory and never ran.
func failed(ms []data.Measurement) (out []data.Config) {
	known := map[string]bool{}
	for _, m := range ms {
		known[m.Key()] = known[m.Key()] || m.Status == data.OK
	}
	for _, m := range ms {
		if m.Status == data.OOM && m.LocalBatch > 0 && !known[m.Key()] && len(out) < maxRows {
			known[m.Key()], out = true, append(out, m.Config)
		}
	}
	return out
}

// Capacity returns the bytes of memory of a GPU type, +Inf if not known.
func (m *Model) Capacity(gpuType string) float64 {
	if b := m.GPU[gpuType]; b > 0 {
		return b
	}
	if g, ok := data.FindGPU(gpuType); ok {
		return g.Memory * (1 << 30) // vendors write GB for GiB
	}
	return math.Inf(1)
}

// Prediction is the memory that a configuration needs.
type Prediction struct {
	Peak     data.Estimate // bytes, of the fullest device; Mean is the median
	Capacity float64       // bytes of the device, +Inf if not known
	Fits     float64       // probability that it fits
	RanOut   bool          // it, or one that needs no more, ran out of memory when measured
}

// For returns the model of the same job at another size.
func (m *Model) For(a data.Architecture) *Model {
	_, _, known := complete(a)
	if _, _, before := complete(m.Architecture); known != before {
		return m
	}
	out := *m
	out.Architecture = a
	return &out
}

// point returns the point of a configuration of this job.
func (m *Model) point(c data.Config) point {
	p := pointOf(c, m.For(c.Architecture.Or(m.Architecture)).Architecture)
	m.relate(&p, c)
	return p
}

// relate completes the point of a configuration by its relation to those measured.
func (m *Model) relate(p *point, c data.Config) {
	p.growth, p.knobs = growthOf(p.tokens, m.Tokens), weightsOf(m.Knobs, c.Extra)
}

// Predict predicts the memory of a configuration, without a batch of one sample.
func (m *Model) Predict(c data.Config) Prediction {
	out := Prediction{Capacity: m.Capacity(c.GPUType)}
	if c.LocalBatch <= 0 {
		c.LocalBatch = 1
	}
	p := m.point(c)
	lns, left := m.posterior(&p, p.ln)
	for i, ln := range lns {
		out.Fits += m.factors[i].fits(ln, left, out.Capacity) / float64(len(lns))
	}
	out.Peak = m.interval(lns, left)
	return out
}

// interval predicts bytes of a posterior.
func (m *Model) interval(lns []float64, left float64) data.Estimate {
	for i := range lns {
		lns[i] += left * m.factors[i].sd * scatter()[i*53%walkers] // one value each, in a fixed order
	}
	slices.Sort(lns)
	at := func(p float64) float64 { return math.Exp(quantile.Sorted(lns, p)) }
	return data.Estimate{Mean: at(.5), Lo: at(.05), Hi: at(.95)}
}

// fits is the probability that a peak of a known posterior fits in a capacity.
func (f *factors) fits(ln, left, capacity float64) float64 {
	if math.IsInf(capacity, 1) {
		return 1
	}
	return student((math.Log(capacity) + f.headroom - ln) / (left * f.sd))
}

// inCommon returns equally likely values of what two configurations have in common that the
// form misses, in standard deviations.
var inCommon = sync.OnceValue(func() (u []float64) {
	const n = 9
	for i := range n {
		u = append(u, distuv.UnitNormal.Quantile((float64(i)+.5)/n))
	}
	return u
})

// FitsGiven predicts the probability that c fits, given that ran does.
func (m *Model) FitsGiven(c, ran data.Config) float64 {
	p, before := m.point(c), m.point(ran)
	lns, left := m.posterior(&p, p.ln)
	lnsBefore, leftBefore := m.posterior(&before, before.ln)
	covariance := p.correlation(&before) - floats.Dot(m.peaks.correlations(&p), m.peaks.correlations(&before))
	common := min(max(covariance/(left*leftBefore), 0), followed) // share of the variance
	fits := func(f *factors, ln, left, u, capacity float64) float64 {
		return f.fits(ln+math.Sqrt(common)*left*f.sd*u, math.Sqrt(1-common)*left, capacity)
	}
	var both, sum float64
	for i := range m.factors {
		f := &m.factors[i]
		for _, u := range inCommon() {
			first := fits(f, lnsBefore[i], leftBefore, u, m.Capacity(ran.GPUType))
			sum += first
			both += first * fits(f, lns[i], left, u, m.Capacity(c.GPUType))
		}
	}
	if sum == 0 {
		return 0
	}
	return both / sum
}

// Feasibility predicts whether configurations fit in memory, by trials and known sizes.
type Feasibility struct{ Architecture data.Architecture }

// Fits returns a function for the probability that a configuration fits, given trials. ok
// is false if the memory of the GPU type is unknown, without a batch, and if neither the
// size of the model nor a peak is known.
func (f Feasibility) Fits(trials []data.Measurement) func(data.Config) (p float64, ok bool) {
	if f.Architecture.Zero() && !slices.ContainsFunc(trials, func(m data.Measurement) bool { return m.PeakMemory > 0 }) {
		return func(data.Config) (float64, bool) { return 0, false }
	}
	model := Fit(trials, f.Architecture, 1)
	return func(c data.Config) (float64, bool) {
		if c.LocalBatch <= 0 || math.IsInf(model.Capacity(c.GPUType), 1) {
			return 0, false
		}
		return model.Predict(c).Fits, true
	}
}
