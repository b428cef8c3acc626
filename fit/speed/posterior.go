package speed

import (
	"cmp"
	"math"
	"slices"

	"gonum.org/v1/gonum/blas"
	"gonum.org/v1/gonum/blas/blas64"
	"gonum.org/v1/gonum/mat"
	"gonum.org/v1/gonum/stat"

	"knee/data"
	"knee/fit/speed/form"
	"knee/internal/gp"
	"knee/internal/leastsq"
	"knee/internal/quantile"
)

// few is the number of draws of the posterior, many that where predictions
// spread widely.
const few, many = 128, 256

// proposals is the number of proposals for a number of parameters, of which few
// or many become draws.
func proposals(axes int) int { return 64 * max(axes, 8) }

// proposalTail is the number of degrees of freedom of the proposals' t
// distribution. As many as parameters keep it near a normal one in all of them
// together; at least eight.
func proposalTail(axes int) float64 { return float64(max(axes, 8)) }

// posterior is the posterior of a group without its members: draws of the
// parameters and of the sizes, and the process on the residual of each.
type posterior struct {
	task    *task
	scaled  *form.Scale            // with the assumptions on unknown batches and nodes
	best    form.Curve             // at the mode
	mode    *node                  // at the mode
	atMode  []float64              // scale²·K⁻¹·residual of best
	picked  []int                  // candidates that are nodes, ascending
	nodes   []node                 // values of the sizes
	axes    []*gp.Factor           // of the precision of each node's proposals
	centers [][]float64            // of each node's proposals
	around  func(at int) []float64 // z of a proposal
	from    []int                  // proposal of each draw
	mine    []int                  // draws used by the average
	curves  []form.Curve           // curves of mine by node, without repetitions
	ends    []int                  // of each node, in curves
	which   []int                  // index in curves of each of mine
	weight  blas64.General         // scale²·K⁻¹·residual of curves, one row per measurement
	noise   []float64              // standard t variates, one per draw: for a new run
	gauss   []float64              // standard normal variates, one per draw: for the process
	tail    float64                // degrees of freedom of noise
}

// newPosterior returns the posterior of a group at its mode, without draws: its
// proposals are from t distributions, one for each node. Their centers and
// scales are the means and covariances of the form linearised at the mode.
// picked are the nodes of a posterior made before, nil to draw them.
func newPosterior(g *group, seed uint64, picked []int) (*posterior, error) {
	t, n := g.task, len(g.z)
	q := &posterior{task: t, scaled: &g.scale, mode: &g.likeliest, tail: g.prior.Tail, picked: picked}
	q.best = t.form.Bind(t.coords.theta(g.z))
	var err error
	if picked == nil {
		q.picked, q.nodes, err = g.drawNodes(seed)
	} else {
		q.nodes, err = g.nodesOf(picked, seed)
	}
	if err != nil {
		return nil, err
	}
	problem := t.problem(g.likeliest.lower)
	j, r := leastsq.Jacobian(problem, g.z), make([]float64, problem.Rows)
	problem.Residuals(g.z, r)
	steps, at := mat.NewDense(len(t.ln), n, nil), make([]float64, len(t.ln))
	t.jacobian(g.z, steps)
	t.residuals(g.z, at)
	for i, node := range q.nodes { // of the rows only those of the step times depend on it
		if i > 0 && q.picked[i] == q.picked[i-1] {
			q.axes, q.centers = append(q.axes, q.axes[i-1]), append(q.centers, q.centers[i-1])
			continue
		}
		top := j.Slice(0, len(t.pts), 0, n).(*mat.Dense)
		top.Copy(steps)
		node.lower.WhitenRows(top.RawMatrix())
		node.lower.Whiten(r[:copy(r, at[:len(t.pts)])])
		precision := mat.NewSymDense(n, nil)
		precision.SymOuterK(1, j.T())
		// Unlike principal axes those of the Cholesky factor L are unique, where
		// nothing was measured of several parameters too: z = center + L⁻ᵀu.
		axes, err := gp.Factorize(precision)
		if err != nil {
			return nil, err
		}
		center := make([]float64, n)
		blas64.Gemv(blas.Trans, -1, j.RawMatrix(), vec(r), 0, vec(center))
		axes.Whiten(center)
		axes.WhitenTransposed(center)
		blas64.Axpy(1, vec(g.z), vec(center))
		q.axes, q.centers = append(q.axes, axes), append(q.centers, center)
	}
	d := designOf(designKey{seed, proposals(n), n, proposalTail(n)})
	q.around = func(at int) []float64 {
		x := make([]float64, n)
		for k := range x {
			x[k] = d.at(k, at)
		}
		j := q.nodeOf(at)
		q.axes[j].WhitenTransposed(x)
		blas64.Axpy(1, vec(q.centers[j]), vec(x))
		return x
	}
	return q, nil
}

// nodeOf returns the node of a proposal; pairs take turns.
func (q *posterior) nodeOf(at int) int { return at / 2 % len(q.nodes) }

// draw makes the draws from proposals, and prepares those that are mine.
func (q *posterior) draw(g *group, seed uint64, from, mine []int) {
	t := q.task
	q.from, q.mine = from, mine
	d := designOf(designKey{seed, proposals(len(g.z)), len(g.z), proposalTail(len(g.z))})
	along := make([][]float64, len(g.z), len(g.z)+1)
	for k := range along {
		along[k] = make([]float64, len(from))
		for i, at := range from {
			along[k][i] = d.at(k, at)
		}
	}
	v := variatesOf(variateKey{seed, len(from), g.prior.Tail})
	q.gauss, q.noise = slices.Clone(v.gauss), slices.Clone(v.noise)
	decorrelate(q.gauss, along)
	decorrelate(q.noise, append(along, q.gauss))
	at := make(map[int]int, len(mine)) // index in curves of a proposal
	q.curves, q.ends = make([]form.Curve, 0, len(mine)), make([]int, len(q.nodes))
	byNode := slices.Clone(mine)
	slices.SortStableFunc(byNode, func(a, b int) int { return cmp.Compare(q.nodeOf(from[a]), q.nodeOf(from[b])) })
	for _, d := range byNode {
		if _, known := at[from[d]]; !known {
			at[from[d]] = len(q.curves)
			q.curves = append(q.curves, t.form.Bind(q.theta(from[d])))
		}
		q.ends[q.nodeOf(from[d])] = len(q.curves)
	}
	for j := range q.ends[1:] { // nodes without curves end where those before them do
		q.ends[j+1] = max(q.ends[j+1], q.ends[j])
	}
	for _, d := range mine {
		q.which = append(q.which, at[from[d]])
	}
	if !t.kernel.smooth {
		return
	}
	best := t.residualsOf([]form.Curve{q.best})
	q.mode.applyInverse(best)
	q.atMode = best.Data
	q.weight = t.residualsOf(q.curves)
	q.eachNode(func(j, first, end int) { q.nodes[j].applyInverse(columns(q.weight, first, end)) })
}

// eachNode calls f for every node with curves, those from first to before end.
func (q *posterior) eachNode(f func(j, first, end int)) {
	first := 0
	for j, end := range q.ends {
		if end > first {
			f(j, first, end)
		}
		first = end
	}
}

// drawsFor returns the number of draws that predictions need. A median of n
// draws of standard deviation s is 1.25·s/√n off: at most 1 % at eight times the
// widest measured configuration of a GPU type, or else they are many.
func (q *posterior) drawsFor(g *group, weights []float64) int {
	const tolerance = .01
	from := systematic(weights, few)
	for t := range g.types {
		p := g.beyond(t)
		ln := make([]float64, len(from))
		for d, at := range from {
			ln[d], _ = q.task.form.Bind(q.theta(at)).LogTimes(&p)
		}
		if 1.25*stat.PopStdDev(ln, nil) > tolerance*math.Sqrt(few) {
			return many
		}
	}
	return few
}

// beyond returns the point of the widest measured configuration of a GPU type
// with eight times the workers, servers and nodes.
func (g *group) beyond(t int) form.Point {
	var c data.Config
	for i := range g.rows {
		if r := g.rows[i].Config; r.GPUType == g.types[t] && r.Workers >= c.Workers {
			c = r
		}
	}
	c.Nodes, c.Placement, c.Workers, c.PS = 8*c.NodeCount(), nil, 8*c.Workers, 8*c.PS
	p, _ := g.point(c)
	return p
}

// theta returns the parameters of a proposal.
func (q *posterior) theta(at int) []float64 { return q.task.coords.theta(q.around(at)) }

// moments returns mean and variance of an entry of θ over the draws.
func (q *posterior) moments(at int) (mean, variance float64) {
	v := make([]float64, len(q.from))
	for d, from := range q.from {
		v[d] = q.theta(from)[at]
	}
	return stat.PopMeanVariance(v, nil)
}

// residualsOf returns measured minus ln step time by curves, one column each.
func (t *task) residualsOf(curves []form.Curve) blas64.General {
	r, shared := general(len(t.pts), len(curves)), newMemo()
	for i := range t.pts {
		row := r.Data[i*r.Stride : (i+1)*r.Stride]
		shared.addSteps(curves, &t.pts[i], row)
		for d := range row {
			row[d] = t.ln[i] - row[d]
		}
	}
	return r
}

// applyInverse replaces residuals r, one curve a column, by scale²·K⁻¹·r.
func (n *node) applyInverse(r blas64.General) {
	for i := range r.Rows {
		blas64.Scal(n.scale*n.scale, vec(r.Data[i*r.Stride:i*r.Stride+r.Cols]))
	}
	n.lower.Solve(r)
}

// columns returns those of m from first to before end.
func columns(m blas64.General, first, end int) blas64.General {
	return blas64.General{Rows: m.Rows, Cols: end - first, Stride: m.Stride, Data: m.Data[first:]}
}

// at returns a point with the posterior's assumptions on what is unknown.
func (q *posterior) at(p *form.Point) *form.Point {
	if p.BatchKnown && p.Placed {
		return p
	}
	assumed := p.Assume(q.scaled)
	return &assumed
}

// spread fills of with ln step time by each of curves, and process with the
// variance of the process of each node. A nil memo caches nothing.
func (q *posterior) spread(p *form.Point, shared *memo, of, process []float64) {
	p = q.at(p)
	clear(of)
	clear(process)
	if q.task.kernel.smooth {
		k, white := make([]float64, len(q.task.pts)), make([]float64, len(q.task.pts))
		var before *kernel
		var at float64
		q.eachNode(func(j, first, end int) {
			n := &q.nodes[j]
			if n.task.kernel != before {
				for i := range k {
					k[i] = n.task.kernel.cov(p, &q.task.pts[i])
				}
				before, at = n.task.kernel, n.task.kernel.cov(p, p)
			}
			blas64.Gemv(blas.Trans, 1, columns(q.weight, first, end), vec(k), 0, vec(of[first:end]))
			copy(white, k)
			n.lower.Whiten(white)
			process[j] = n.process(at, blas64.Dot(vec(white), vec(white)))
		})
	}
	shared.addSteps(q.curves, p, of)
}

// process returns the variance of the process at a point, given its variance at
// scale 1 without measurements, of which kᵀK⁻¹k is explained.
func (n *node) process(at, explained float64) float64 {
	return n.scale * n.scale * max(at-n.scale*n.scale*explained, 0)
}

// centralMemo caches terms of [posterior.central] between similar points.
type centralMemo struct {
	before  form.Point
	places  []float64 // placeCov of before with each measurement; nil: nothing is cached
	process float64
}

// central returns ln step time at the mode of the posterior.
func (q *posterior) central(p *form.Point, m *centralMemo) float64 {
	p = q.at(p)
	k := q.task.kernel
	sameBatch := m.places != nil && m.before.Type == p.Type && m.before.Batch == p.Batch && k.weights == nil
	if m.places == nil || !samePlace(&m.before, p) {
		m.places, sameBatch = m.places[:0], false
		for i := range q.atMode {
			m.places = append(m.places, k.placeCov(p, &q.task.pts[i]))
		}
	}
	if m.before = *p; !sameBatch {
		m.process = 0
		for i, w := range q.atMode {
			m.process += w * k.covGiven(p, &q.task.pts[i], m.places[i])
		}
	}
	ln, _ := q.best.LogTimes(p)
	return ln + m.process
}

// estimate returns the step time in seconds from draws of its logarithm, and its
// median. It sorts and exponentiates them in place.
func estimate(of []float64) (e data.Estimate, median float64) {
	slices.Sort(of)
	for d, v := range of {
		of[d] = math.Exp(v)
	}
	lo, hi := quantile.Sorted(of, .05), quantile.Sorted(of, .95)
	return data.Estimate{Mean: min(max(cappedMedian(of), lo), hi), Lo: lo, Hi: hi}, quantile.Sorted(of, .5)
}

// cappedMedian returns the value v that minimises the expected relative error
// min(|v/t − 1|, most) over ascending draws t. Without the cap it is their median
// under weights 1/t (Gneiting, "Making and Evaluating Point Forecasts", 2011,
// section 3), which a few very small draws would dominate.
func cappedMedian(t []float64) float64 {
	const most = 2
	n := len(t)
	inverse := make([]float64, n+1) // sums of 1/t
	for i, v := range t {
		inverse[i+1] = inverse[i] + 1/v
	}
	best, least := t[0], math.Inf(1)
	far := 0 // draws whose error is most
	for i, v := range t {
		for far < i && (1+most)*t[far] <= v {
			far++
		}
		below := v*(inverse[i]-inverse[far]) - float64(i-far)
		above := float64(n-i) - v*(inverse[n]-inverse[i])
		if cost := most*float64(far) + below + above; cost < least {
			best, least = v, cost
		}
	}
	return best
}

// parameters returns the parameters at the mode for a GPU type, with intervals
// from the draws.
func (q *posterior) parameters(t int) []form.Param {
	ps := form.ParamsOf(q.best, t)
	values := make([][]float64, len(ps))
	for _, at := range q.from {
		for i, p := range form.ParamsOf(q.task.form.Bind(q.theta(at)), t) {
			values[i] = append(values[i], p.Value.Mean)
		}
	}
	for i, v := range values {
		slices.Sort(v)
		e := &ps[i].Value
		e.Lo, e.Hi = min(quantile.Sorted(v, .05), e.Mean), max(quantile.Sorted(v, .95), e.Mean)
	}
	return ps
}
