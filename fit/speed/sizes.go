package speed

import (
	"errors"
	"math"
	"slices"

	"gonum.org/v1/gonum/blas/blas64"

	"knee/internal/gp"
)

// sizes are the posterior of the factors on the kernel's amplitudes and
// influences, each described by its logarithm in prior standard deviations:
// of the noise; then, unless the family is published, of the process; with
// varied knobs, of the influence of each knob and each of baseDims.
type sizes struct {
	Mode []float64 `json:"mode"`
	SD   []float64 `json:"sd"` // at the mode; 0 where the factor has no effect
}

// plainScatter is the sd of ln noise of published families, whose errors vary
// widely.
const plainScatter = 2

// node is the covariance at one value of the sizes.
type node struct {
	task         *task
	lower        *gp.Factor // of the covariance of the step times
	scale, noise float64    // factors on process and noise
	fresh        float64    // sd of ln step time of a new run
	ln           float64    // ln of prior density over the density of being drawn, up to a constant
}

// nodeAt returns the node of sizes h.
func (g *group) nodeAt(h []float64) (n node, err error) {
	n = node{task: g.task, scale: 1}
	if len(h) == 1 {
		n.noise = math.Exp(plainScatter * h[0])
	} else {
		n.noise, n.scale = math.Exp(g.prior.Scatter*h[0]), math.Exp(g.prior.Scatter*h[1])
	}
	if len(h) > 2 {
		n.task = g.weighted(h[2:])
	}
	n.fresh = math.Sqrt2 * n.noise * n.task.kernel.Noise // of a configuration, and of a run
	n.lower, err = n.task.whiten(n.scale, n.noise)
	return n, err
}

// weighted returns the task with the influences of sizes.
func (g *group) weighted(sizes []float64) *task {
	t, o, k := *g.task, *g.task.observed, *g.task.kernel
	weights := make([]float64, len(sizes))
	for i, h := range sizes {
		weights[i] = math.Exp(g.prior.Scatter * h)
	}
	k.weights = g.coordinateWeights(weights)
	o.kernel, o.step = &k, covariance(o.pts, k.cov)
	t.observed = &o
	return &t
}

// unmeasured returns the sizes of the prior mean.
func (g *group) unmeasured() []float64 {
	switch k := g.task.kernel; {
	case !k.smooth:
		return make([]float64, 1)
	case k.weights == nil:
		return make([]float64, 2)
	}
	return make([]float64, 2+len(g.knobs)+baseDims)
}

// infer finds the mode and the widths of the sizes at the current parameters:
// in two rounds, each is moved to the top of a parabola through three values.
func (g *group) infer() error {
	linear, err := g.task.linearize(g.z)
	if err != nil {
		return err
	}
	value := func(h []float64) float64 { // log density: the evidence and normal priors
		n, err := g.nodeAt(h)
		if err != nil {
			return math.Inf(-1)
		}
		return linear.evidence(n.lower) + n.task.repeats(n.noise) - blas64.Dot(vec(h), vec(h))/2
	}
	h := g.unmeasured()
	sd, top := make([]float64, len(h)), value(h)
	for range 2 {
		for i := range h {
			if at := i - 2; at >= 0 && at < len(g.knobs) && !g.knobs[at].varied() {
				continue
			}
			at := func(by float64) float64 {
				moved := slices.Clone(h)
				moved[i] += by
				return value(moved)
			}
			const near, far = 1, 2 // prior standard deviations
			up, down := at(near), at(-near)
			slope, bend := (up-down)/(2*near), (2*top-up-down)/(near*near)
			sd[i] = 1 / math.Sqrt(max(bend, 1)) // the prior alone bends by 1
			to := math.Copysign(far, slope)
			if bend > 0 {
				to = max(-far, min(far, slope/bend))
			}
			best := 0.
			for _, c := range [][2]float64{{near, up}, {-near, down}, {to, at(to)}} {
				if c[1] > top {
					best, top = c[0], c[1]
				}
			}
			h[i] += best
		}
	}
	if math.IsInf(top, -1) {
		return gp.ErrIndefinite
	}
	g.size, g.evidence = sizes{h, sd}, top
	return g.toMode()
}

// toMode sets the covariance at the mode of the sizes.
func (g *group) toMode() (err error) {
	if g.likeliest, err = g.nodeAt(g.size.Mode); err == nil {
		g.task = g.likeliest.task
	}
	return err
}

// mostNodes is the largest number of nodes.
const mostNodes = 32

// candidateSizes returns the number of nodes, fewer with more rows, which leave
// less to know, and the candidates for them, from a t distribution around the
// mode of the sizes.
func (g *group) candidateSizes(seed uint64) (n int, d *design) {
	const work, candidates = 256, 4 // pairs of nodes × rows: bounds the time of a prediction; for each node
	n = 2 * max(1, min(mostNodes/2, work/len(g.rows)))
	return n, designOf(designKey{seed, candidates * n, len(g.size.Mode), g.prior.Tail})
}

// candidate returns the sizes of a candidate.
func (g *group) candidate(d *design, at int) []float64 {
	h := slices.Clone(g.size.Mode)
	for k, sd := range g.size.SD {
		h[k] += sd * d.at(k, at)
	}
	return h
}

// drawNodes draws candidates from the posterior of the sizes with the form
// linearised at the mode, by importance resampling.
func (g *group) drawNodes(seed uint64) (picked []int, nodes []node, err error) {
	linear, err := g.task.linearize(g.z)
	if err != nil {
		return nil, nil, err
	}
	n, d := g.candidateSizes(seed)
	all, ln := make([]node, len(d.length)), slices.Clone(d.length)
	for i := range all {
		h := g.candidate(d, i)
		for k, sd := range g.size.SD {
			ln[i] -= h[k] * h[k] / 2
			if sd > 0 {
				ln[i] += math.Log(sd)
			}
		}
		if all[i], err = g.nodeAt(h); err != nil {
			ln[i] = math.Inf(-1)
			continue
		}
		all[i].ln = linear.evidence(all[i].lower) + all[i].task.repeats(all[i].noise)
		ln[i] += all[i].ln
	}
	weights, total := importance(ln, 1)
	picked = systematic(weights, n)
	for _, at := range picked {
		at := all[at]
		at.ln = total - at.ln
		nodes = append(nodes, at)
	}
	return picked, nodes, nil
}

// nodesOf returns the nodes of picked candidates, without [node.ln].
func (g *group) nodesOf(picked []int, seed uint64) (nodes []node, err error) {
	n, d := g.candidateSizes(seed)
	if len(picked) != n || !slices.IsSorted(picked) || picked[0] < 0 || picked[n-1] >= len(d.length) {
		return nil, errors.New("nodes of another posterior")
	}
	nodes = make([]node, n)
	for i, at := range picked {
		if i > 0 && at == picked[i-1] {
			nodes[i] = nodes[i-1]
		} else if nodes[i], err = g.nodeAt(g.candidate(d, at)); err != nil {
			return nil, err
		}
	}
	return nodes, nil
}
