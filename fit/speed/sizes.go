package speed

import (
	"math"
	"slices"
)

// sizes are the factors on the kernel's amplitudes that were inferred for the
// job at hand.
type sizes struct {
	Scale   float64   `json:"scale"`             // of process and noise together: posterior mean of the logarithm
	Noise   float64   `json:"noise"`             // of the noise alone
	Weights []float64 `json:"weights,omitempty"` // influence of each knob
	Scales  []float64 `json:"scales"`            // grid of scales
	Chance  []float64 `json:"chance"`            // their posterior probabilities
}

// infer chooses the sizes by the evidence at the current parameters, climbing
// by factors from what is usual.
func (g *group) infer(w *whitening) (*whitening, error) {
	if g.like != nil && len(g.like.knobs) == len(g.knobs) {
		g.size = g.like.size
		if g.task.kernel.weights != nil {
			g.task = g.weighted(g.size.Weights)
		}
		return g.task.whiten(g.size.Noise)
	}
	c := climb{g: g, w: w}
	var ok bool
	if c.ev, ok = g.task.evidenceAt(w, g.z); !ok {
		return w, nil
	}
	c.top, c.weights = c.ev.marginal(g.scatter()), slices.Repeat([]float64{1}, len(g.knobs))
	c.noise = 1
	for range 2 {
		c.along(math.Sqrt2, func(f float64) bool { return g.task.kernel.smooth && c.try(c.noise*f, c.weights) })
		for i := range g.knobs {
			c.along(2, func(f float64) bool {
				v := slices.Clone(c.weights)
				v[i] *= f
				return g.task.kernel.weights != nil && g.knobs[i].varied() && c.try(c.noise, v)
			})
		}
	}
	g.size.Noise, g.size.Weights = c.noise, c.weights
	g.size.Scales, g.size.Chance = c.ev.posterior(g.scatter())
	var ln float64
	for i, s := range g.size.Scales {
		ln += g.size.Chance[i] * math.Log(s)
	}
	g.size.Scale = math.Exp(ln)
	return c.w, nil
}

// plainScatter is the sd of ln scale of published families, whose misfit may
// be anything from nothing to all.
const plainScatter = 2

func (g *group) scatter() float64 {
	if !g.learned() {
		return plainScatter
	}
	return g.prior.Scatter
}

// climb is the state of a search for the likeliest sizes.
type climb struct {
	g       *group
	w       *whitening
	ev      *evidence
	top     float64
	noise   float64
	weights []float64
}

// along goes up in steps of a factor as long as that is likelier, at most
// three times; else down.
func (c *climb) along(factor float64, step func(f float64) bool) {
	for _, f := range []float64{factor, 1 / factor} {
		n := 0
		for n < 3 && step(f) {
			n++
		}
		if n > 0 {
			return
		}
	}
}

// try keeps sizes that are likelier, under log-normal priors.
func (c *climb) try(noise float64, weights []float64) bool {
	g := c.g
	t := g.task
	if !slices.Equal(weights, c.weights) {
		t = g.weighted(weights)
	}
	w, err := t.whiten(noise)
	if err != nil {
		return false
	}
	ev, ok := t.evidenceAt(w, g.z)
	if !ok {
		return false
	}
	value := ev.marginal(g.scatter()) - sq(math.Log(noise)/g.prior.NoiseScatter)/2
	for _, v := range weights {
		value -= sq(math.Log(v)/g.prior.KnobScatter) / 2
	}
	if value <= c.top {
		return false
	}
	c.top, c.w, c.ev, c.noise, c.weights, g.task = value, w, ev, noise, weights, t
	return true
}

// weighted returns the task with other influences of the knobs.
func (g *group) weighted(weights []float64) *task {
	k := *g.task.kernel
	k.weights = g.coordinateWeights(weights)
	t := *g.task
	t.observed = observe(g.rows, g.pts, &k)
	return &t
}

// The grid of scales: quarters of the prior's sd up to three of them.
const (
	scaleSteps   = 12
	scalePerStep = .25
)

// posterior returns the scales tried and their posterior probabilities under
// a log-normal prior of the given sd.
func (e *evidence) posterior(sd float64) (scales, chance []float64) {
	top := math.Inf(-1)
	for i := -scaleSteps; i <= scaleSteps; i++ {
		u := float64(i) * scalePerStep
		s := math.Exp(sd * u)
		l := e.at(s) - u*u/2
		scales, chance = append(scales, s), append(chance, l)
		top = max(top, l)
	}
	var sum float64
	for i, l := range chance {
		chance[i] = math.Exp(l - top)
		sum += chance[i]
	}
	for i := range chance {
		chance[i] /= sum
	}
	return scales, chance
}

// marginal is the log density with the scale integrated out, up to a constant.
func (e *evidence) marginal(sd float64) float64 {
	top, sum := math.Inf(-1), 0.
	var l [2*scaleSteps + 1]float64
	for i := range l {
		u := float64(i-scaleSteps) * scalePerStep
		l[i] = e.at(math.Exp(sd*u)) - u*u/2
		top = max(top, l[i])
	}
	for _, v := range l {
		sum += math.Exp(v - top)
	}
	return top + math.Log(sum)
}
