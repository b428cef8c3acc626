package fit

import (
	"math"

	"knee/data"
)

// Collective is this project's form for collective communication: every
// worker computes on its share, then all average their gradients.
//
//	T_compute = (Fixed + PerBatch·(b/RefBatch)^BatchPower)·(1 + Crowding·(g−1))
//	R(m) = 2(m−1)/m
//	I = Intra·R(g)·(g/2)^IntraPower                                  if g > 1
//	E = Inter·R(k)·(n/2)^InterPower·(k/n)^WidthPower·TwoNodes[n=2]   if n > 1
//	T_sync = (I⁴ + E⁴)^¼, 0 for one worker
//	T = s·T_compute + (T_compute^γ + T_sync^γ)^(1/γ)
//
// with n nodes, k workers, g workers on the widest node, local batch b, s
// accumulation steps. It differs from Pollux (OSDI'21, section 3.2) where
// that form extrapolates badly: instead of linearly in the workers,
// synchronisation grows as what a ring sends over each link, R, which soon
// levels off, times small powers for what does not (latency, stragglers,
// workers that share a node); the slower of the links decides, and two nodes
// may be slower than the trend.
//
// Workers that compute on the processors of a node share them: each further
// one slows all down by Crowding. Those with an accelerator each hardly do.
//
// The ring explains why width counts for much on two nodes and for little on
// sixteen: with one and four workers a node R grows by 1.75 and by 1.05.
type Collective struct {
	Fixed      float64 // s per micro-step, whatever the batch
	PerBatch   float64 // s per micro-step at the local batch RefBatch
	RefBatch   float64 // samples
	BatchPower float64 // 0.3 to 1
	Intra      float64 // s to synchronise two workers of one node
	IntraPower float64
	Inter      float64 // s to synchronise two nodes with one worker each
	InterPower float64
	WidthPower float64 // how the time grows with the workers that share a node's link
	TwoNodes   float64 // factor that only two-node placements carry
	Crowding   float64 // by how much each further worker on the node slows the compute, relative
	Overlap    float64 // γ: 1 = synchronisation after computation, 10 = fully overlapped
}

// collective is Collective with the logarithms that evaluation needs.
type collective struct {
	Collective
	lnFixed, lnPer, lnRef, lnIntra, lnInter, lnTwo float64
	lnUnit                                         float64 // of the times that powers are taken of
}

func (c Collective) prepare() *collective {
	p := &collective{
		Collective: c,
		lnFixed:    math.Log(c.Fixed), lnPer: math.Log(c.PerBatch), lnRef: math.Log(c.RefBatch),
		lnIntra: math.Log(c.Intra), lnInter: math.Log(c.Inter), lnTwo: math.Log(c.TwoNodes),
	}
	p.lnUnit = logSumExp(p.lnFixed, p.lnPer)
	return p
}

// StepTime implements [StepTimer].
func (c *Collective) StepTime(cfg data.Config) float64 {
	p := pointOf(cfg, scale{batch: c.RefBatch, global: c.RefBatch})
	step, _ := c.prepare().logTimes(&p)
	return math.Exp(step)
}

func (c *collective) logTimes(p *point) (step, compute float64) {
	compute = c.lnCompute(p)
	return c.join(p, compute, c.lnWorst(p)), compute
}

// lnCompute implements [separable]: ln of the compute time of a
// micro-step, which depends on the batch and the width of the placement.
func (c *collective) lnCompute(p *point) float64 {
	return logSumExp(c.lnFixed, c.lnPer+c.BatchPower*(p.lnBatch-c.lnRef)) + math.Log1p(c.Crowding*(p.widest-1))
}

// lnWorst returns ln of the synchronisation time, −Inf for a
// lone worker.
func (c *collective) lnWorst(p *point) float64 {
	if p.workers <= 1 {
		return math.Inf(-1)
	}
	intra, inter := c.lnSync(p)
	return logSumExp(4*intra, 4*inter) / 4
}

// join returns ln of the step time.
func (c *collective) join(p *point, compute, sync float64) float64 {
	if p.workers <= 1 {
		return compute + math.Log1p(p.accum)
	}
	step := logSumExp(c.Overlap*compute, c.Overlap*sync) / c.Overlap
	if p.accum > 0 {
		step = logSumExp(step, compute+math.Log(p.accum))
	}
	return step
}

// computePower implements [separable]: the compute time to the power γ.
func (c *collective) computePower(lnCompute float64) float64 {
	return math.Exp(c.Overlap * (lnCompute - c.lnUnit))
}

// syncPower implements [separable]: the synchronisation time to the power γ.
func (c *collective) syncPower(p *point) float64 { return c.computePower(c.lnWorst(p)) }

// joinPowers implements [separable]: join of the logarithms of both.
func (c *collective) joinPowers(p *point, lnCompute, compute, sync float64) float64 {
	sum := compute + sync
	if p.workers <= 1 || !(sum > 1e-300 && sum < 1e300) { // beyond the numbers
		return c.join(p, lnCompute, c.lnWorst(p))
	}
	step := c.lnUnit + math.Log(sum)/c.Overlap
	if p.accum > 0 {
		step = logSumExp(step, lnCompute+math.Log(p.accum))
	}
	return step
}

// lnSync returns the logarithms of the synchronisation times inside the
// nodes and between them, −Inf where there is none. Several workers have one.
func (c *collective) lnSync(p *point) (intra, inter float64) {
	intra, inter = math.Inf(-1), math.Inf(-1)
	if p.widest > 1 {
		intra = c.lnIntra + p.lnRingWidest + c.IntraPower*(p.lnWidest-math.Ln2)
	}
	if p.nodes > 1 {
		inter = c.lnInter + p.lnRing + c.InterPower*(p.lnNodes-math.Ln2) + c.WidthPower*(p.lnWorkers-p.lnNodes)
		if p.nodes == 2 {
			inter += c.lnTwo
		}
	}
	return intra, inter
}

func (c *collective) params() []Param {
	return []Param{
		param("fixed", "s", c.Fixed),
		param("per_batch", "s", c.PerBatch),
		param("batch_power", "", c.BatchPower),
		param("intra_node", "s", c.Intra),
		param("intra_power", "", c.IntraPower),
		param("inter_node", "s", c.Inter),
		param("inter_power", "", c.InterPower),
		param("width_power", "", c.WidthPower),
		param("two_nodes", "", c.TwoNodes),
		param("crowding", "", c.Crowding),
		param("overlap", "", c.Overlap),
	}
}

func param(name, unit string, value float64) Param {
	return Param{Name: name, Unit: unit, Value: data.Estimate{Mean: value}}
}

// Coordinates of collective in the solver.
const (
	colFixed = iota
	colPerBatch
	colBatchPower
	colOverlap
	colIntra
	colInterOverIntra
	colInterPower
	colIntraPower
	colWidthPower
	colTwoNodes
	colCrowding
	colCount
)

// collectiveForm scales Collective to one set of measurements.
type collectiveForm struct{ s scale }

func newCollectiveForm(_ data.Mode, _ []point, s scale) form { return &collectiveForm{s} }

func (f *collectiveForm) name() string { return "collective" }

func (f *collectiveForm) bind(x []float64) curve {
	t := f.s.compute
	return Collective{
		Fixed: t * math.Exp(x[colFixed]), PerBatch: t * math.Exp(x[colPerBatch]), RefBatch: f.s.batch,
		BatchPower: .3 + .7*logistic(x[colBatchPower]),
		Intra:      t * math.Exp(x[colIntra]), IntraPower: x[colIntraPower],
		Inter: t * math.Exp(x[colIntra]+x[colInterOverIntra]), InterPower: x[colInterPower],
		WidthPower: x[colWidthPower], TwoNodes: math.Exp(x[colTwoNodes]),
		Crowding: math.Exp(x[colCrowding]), Overlap: 1 + 9*logistic(x[colOverlap]),
	}.prepare()
}

// prior was set from what all-reduce training looks like over models and
// clusters: half the compute is there at any batch, synchronising two
// workers takes a third of it, and beyond what a ring sends, time grows slowly
// with nodes and hardly with workers that share one. For intervals the time
// between nodes may be farther off, since before two nodes were measured
// nothing is known of it, and the time inside is better known than the
// estimate's prior, which is loose to let the measurements decide, pretends.
//
// Of the powers, the six T4 jobs alone, up to 16 nodes, decide how time grows
// with nodes (means .08 to .29); the others agree between six T4 and six A100
// jobs. Two nodes were slower than the trend by a factor of 1.3 to 1.7 on the
// one cluster that tells them from more, which is believed half.
//
// Without accelerators workers soon want more cores and memory bandwidth than
// the node has. With them the prior leaves next to no crowding: timers of twelve
// jobs do show compute that is slower by a hundredth, for one by a tenth, per
// further worker, but it levels off, and what a few workers say of it makes
// the predictions of many worse (six A100 jobs, measured on up to four GPUs,
// are predicted at 7.0 instead of 6.1 % with a prior of 0.004 within a factor of
// three). Of that the smooth residual takes care.
//
// GPUs joined by NVLink stand in machines built for training, whose network
// keeps up with the links inside: both times are shorter relative to the
// compute, the second is shorter than the first, and two nodes are no slower
// than the trend. Cards on PCIe mostly stand behind Ethernet. The shifts are
// rounded from fits of all placements of six jobs on NVLink machines (which
// see only the sum of the last two), with none left out.
func (f *collectiveForm) prior() prior {
	p := f.unlinked()
	if f.s.linked {
		p.mean[colIntra] -= .5
		p.mean[colInterOverIntra] -= .4
		p.mean[colTwoNodes] = 0
	}
	if f.s.crowded {
		p.mean[colCrowding], p.sd[colCrowding], p.wide[colCrowding] = -3, 1.5, 1.5
	}
	return p
}

// unlinked is the prior where nothing is known of the hardware.
func (f *collectiveForm) unlinked() prior {
	return prior{
		mean: []float64{-.5, -1, 1.5, -2.2, -1.2, .1, .15, .05, .1, .25, -6},
		sd:   []float64{.6, 1.5, 1, .8, .8, .6, .07, .15, .1, .25, .3},
		wide: []float64{.6, 1.5, 1, .8, .6, .7, .07, .15, .1, .25, .3},
	}
}

// starts covers the two other explanations of the same step times: slow but
// overlapped synchronisation, and fast links inside with slow ones between.
func (f *collectiveForm) starts() [][]float64 { return startsFrom(f.prior().mean) }

func startsFrom(mean []float64) [][]float64 {
	return [][]float64{
		mean,
		shifted(mean, map[int]float64{colOverlap: 1.5, colIntra: 1}),
		shifted(mean, map[int]float64{colOverlap: -1, colIntra: -1.5, colInterOverIntra: .7}),
	}
}

func (f *collectiveForm) kernel() kernel { return collectiveKernel{} }

// gradient implements [gradienter]: the weights of each logSumExp, passed down.
func (f *collectiveForm) gradient(x []float64, p *point, step, compute []float64) {
	c := f.bind(x).(*collective)
	lnStep, lnCompute := c.logTimes(p)
	q := logistic(x[colBatchPower])
	crowded := 1 + c.Crowding*(p.widest-1)
	compute[colFixed] = math.Exp(c.lnFixed-lnCompute) * crowded
	compute[colPerBatch] = 1 - compute[colFixed]
	compute[colCrowding] = 1 - 1/crowded
	compute[colBatchPower] = compute[colPerBatch] * .7 * q * (1 - q) * (p.lnBatch - c.lnRef)
	if p.workers <= 1 {
		copy(step, compute)
		return
	}
	lnIntra, lnInter := c.lnSync(p)
	sync := logSumExp(4*lnIntra, 4*lnInter) / 4
	opt := logSumExp(c.Overlap*lnCompute, c.Overlap*sync) / c.Overlap
	share := math.Exp(opt - lnStep) // of the micro-step that synchronises
	ofSync := share * math.Exp(c.Overlap*(sync-opt))
	ofCompute := share*math.Exp(c.Overlap*(lnCompute-opt)) + (1 - share)
	for j, d := range compute {
		step[j] = ofCompute * d
	}
	inter := math.Exp(4 * (lnInter - sync))
	step[colIntra] = ofSync
	step[colIntraPower] = ofSync * (1 - inter) * (p.lnWidest - math.Ln2)
	step[colInterOverIntra] = ofSync * inter
	step[colInterPower] = ofSync * inter * (p.lnNodes - math.Ln2)
	step[colWidthPower] = ofSync * inter * (p.lnWorkers - p.lnNodes)
	if p.nodes == 2 {
		step[colTwoNodes] = ofSync * inter
	}
	o := logistic(x[colOverlap])
	w := math.Exp(c.Overlap * (sync - opt))
	step[colOverlap] = share * (w*sync + (1-w)*lnCompute - opt) / c.Overlap * 9 * o * (1 - o)
}
