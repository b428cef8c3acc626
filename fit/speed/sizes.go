package speed

import (
	"math"
	"slices"

	"knee/internal/gp"
)

// sizes are the factors on the kernel's amplitudes, inferred for the job.
type sizes struct {
	Scale   float64   `json:"scale"`             // of the process
	Noise   float64   `json:"noise"`             // of the noise
	Weights []float64 `json:"weights,omitempty"` // influence of each knob, and of each of baseDims
	Scales  []float64 `json:"scales"`            // grid of scales of the process
	Chance  []float64 `json:"chance"`            // their posterior probabilities
}

// Range of the grid of process scales, in prior standard deviations.
const leastScale, mostScale = -2, 3

// infer chooses the sizes by the evidence at the current parameters: the
// process scale on a grid, noise and weights by coordinate search from 1.
func (g *group) infer() (*gp.Factor, error) {
	c := climb{g: g, top: math.Inf(-1), task: g.task, size: sizes{Scale: 1, Noise: 1, Weights: slices.Repeat([]float64{1}, len(g.knobs)+baseDims)}}
	var err error
	if c.linear, err = g.task.linearize(g.z); err != nil {
		return nil, err
	}
	c.grid()
	for range 2 {
		if !c.search() {
			break // the grid is of these sizes
		}
		c.grid()
	}
	g.size, g.task, g.evidence = c.size, c.task, c.top
	return g.task.whiten(g.size.Scale, g.size.Noise)
}

// plainScatter is the sd of ln noise of published families, whose errors vary
// widely.
const plainScatter = 2

// climb is the state of the search for the sizes of largest density.
type climb struct {
	g      *group
	task   *task
	linear linearized // at the current parameters
	top    float64
	size   sizes
}

// search moves noise and weights to larger density and reports whether any
// moved.
func (c *climb) search() (moved bool) {
	step := math.Sqrt2
	if !c.task.kernel.smooth {
		step *= plainScatter
	}
	moved = c.along(step, func(f float64) bool {
		s := c.size
		s.Noise *= f
		return c.try(s)
	})
	for i := range c.size.Weights {
		if c.task.kernel.weights == nil || i < len(c.g.knobs) && !c.g.knobs[i].varied() {
			continue
		}
		moved = c.along(2, func(f float64) bool {
			s := c.size
			s.Weights = slices.Clone(s.Weights)
			s.Weights[i] *= f
			return c.try(s)
		}) || moved
	}
	return moved
}

// grid computes the probabilities of all process scales given the other sizes,
// and sets the likeliest.
func (c *climb) grid() {
	c.size.Scales, c.size.Chance = []float64{1}, []float64{1}
	if c.task.kernel.smooth {
		c.size.Scales, c.size.Chance = nil, nil
		for u := leastScale; u <= mostScale; u++ {
			c.size.Scales = append(c.size.Scales, math.Exp(c.g.prior.Scatter*float64(u)))
		}
	}
	top, best := math.Inf(-1), 0
	values := make([]float64, len(c.size.Scales))
	for i, scale := range c.size.Scales {
		s := c.size
		s.Scale = scale
		if values[i] = c.value(c.task, s); values[i] > top {
			top, best = values[i], i
		}
	}
	c.size.Scale, c.top = c.size.Scales[best], top
	var sum float64
	for _, v := range values {
		sum += math.Exp(v - top)
	}
	if c.size.Chance == nil {
		for _, v := range values {
			c.size.Chance = append(c.size.Chance, math.Exp(v-top)/sum)
		}
	}
}

// along multiplies by factor up to three times while the density increases; if
// it never does, it divides. It reports whether anything moved.
func (c *climb) along(factor float64, step func(f float64) bool) bool {
	for _, f := range []float64{factor, 1 / factor} {
		n := 0
		for n < 3 && step(f) {
			n++
		}
		if n > 0 {
			return true
		}
	}
	return false
}

// try keeps sizes of larger density and reports whether it did.
func (c *climb) try(s sizes) bool {
	t := c.task
	if !slices.Equal(s.Weights, c.size.Weights) {
		t = c.g.weighted(s.Weights)
	}
	v := c.value(t, s)
	if !(v > c.top) {
		return false
	}
	c.top, c.task, c.size = v, t, s
	return true
}

// value is the log density of sizes: the evidence and log-normal priors.
func (c *climb) value(t *task, s sizes) float64 {
	w, err := t.whiten(s.Scale, s.Noise)
	if err != nil {
		return math.Inf(-1)
	}
	p := c.g.prior
	noise := p.Scatter
	if !t.kernel.smooth {
		noise = plainScatter
	}
	v := c.linear.evidence(w) - sq(math.Log(s.Scale)/p.Scatter)/2 - sq(math.Log(s.Noise)/noise)/2
	for _, x := range s.Weights {
		v -= sq(math.Log(x)/p.Scatter) / 2
	}
	return v
}

// weighted returns the task with new knob weights.
func (g *group) weighted(weights []float64) *task {
	t, o, k := *g.task, *g.task.observed, *g.task.kernel
	k.weights = g.coordinateWeights(weights)
	o.kernel, o.step = &k, covariance(o.pts, k.cov)
	t.observed = &o
	return &t
}
