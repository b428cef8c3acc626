package form

import (
	"math"

	"knee/data"
)

// Collective is knee's form for collective communication: every worker computes
// gradients on its batch, then all workers average them.
//
//	C = (Fixed ⊕ PerBatch·max(b,1)/RefBatch)·min(b,1)·(1 + Crowding·(g−1))
//	I = Intra·R(g)·(g/2)^Power                  if g > 1
//	E = Inter·R(k)·(k/2)^Power                  if n > 1, × Tree if n > 2
//	S = (I⁴ + E⁴)^¼·min(b,1), 0 for one worker;  R(m) = 2(m−1)/m
//	T = s·C + (C^γ + S^γ)^(1/γ), at least Input·m, or + Input·m if in turn
//
// with n nodes, k workers, g workers on the widest node, local batch b, s
// accumulation steps; x ⊕ y is x + y, or (x⁴ + y⁴)^¼ where Fixed is the launches of
// operations, which overlap with executing them. It differs from Pollux (OSDI'21,
// section 3.2), which extrapolates badly, in two ways: instead of linearly in the
// workers, synchronisation grows with the bytes sent over each link, times a small
// power for effects besides bandwidth (latency, stragglers, workers that share a
// node); and the slower link dominates. The bytes are those of a ring, R
// (Patarasuk and Yuan, 2009). Libraries may use trees instead (Sanders, Speck
// and Träff, "Two-tree algorithms for full bandwidth broadcast, reduction and
// scan", 2009; NCCL since 2.4), which over two nodes send half as much, and
// other algorithms over more nodes: Tree is one within a factor of two.
//
// With a local batch below one, several workers share a sample and each holds
// part of the model: compute and gradients shrink with it. If the number of
// nodes is unknown, all links are of one kind. Workers on the processors of a
// node share them: each further one slows all by Crowding. The workers of a node,
// or all, may share what their input comes from; they read m samples in a step,
// while computing or, in turn, before.
type Collective struct {
	Fixed      float64 // s per micro-step, whatever the batch
	PerBatch   float64 // s per micro-step at the local batch RefBatch
	RefBatch   float64 // samples
	Intra      float64 // s to synchronise two workers of one node
	Inter      float64 // s to synchronise two nodes with one worker each
	Tree       float64 // factor for more than two nodes, relative to a ring
	Power      float64 // growth of Inter with the workers, beyond R
	IntraPower float64 // growth of Intra, beyond R: of GPUs on PCIe more share a bridge
	Crowding   float64 // relative slowdown of compute per further worker on the node
	Overlap    float64 // γ: 1 = synchronisation after computation, 10 = fully overlapped
	Input      float64 // s per sample of the workers that share input; 0 if this never takes longest
	// Hierarchical reduces within nodes first: E has one worker per node.
	Hierarchical bool
	Shared       Sharing
	Launched     bool // Fixed is launches, which overlap with the rest of computing
}

// GPUsPerNode is the largest number of GPUs of the usual node, with the links of a network
// beyond.
const GPUsPerNode = 8

var lnPerNode = math.Log(GPUsPerNode)

// StepTime implements [StepTimer].
func (c *Collective) StepTime(cfg data.Config) float64 {
	curve := &collective{
		lnFixed: math.Log(c.Fixed), lnPer: math.Log(c.PerBatch), refBatch: c.RefBatch, lnRef: math.Log(math.Max(c.RefBatch, 1)),
		lnIntra: math.Log(c.Intra), lnInter: math.Log(c.Inter), lnTree: math.Log(c.Tree),
		lnInput: math.Log(c.Input), shared: c.Shared, power: c.Power, intraPower: c.IntraPower, crowding: c.Crowding, overlap: c.Overlap, hierarchical: c.Hierarchical,
		launched: c.Launched,
	}
	return curve.StepTime(cfg)
}

// collective is Collective by the logarithms of its times.
type collective struct {
	lnFixed, lnPer, refBatch, lnRef, lnIntra, lnInter, lnTree float64
	lnUnit                                                    float64 // unit of the times that are raised to powers
	lnInput                                                   float64
	shared                                                    Sharing
	power, intraPower, crowding, overlap                      float64
	hierarchical, launched                                    bool
}

func (c *collective) StepTime(cfg data.Config) float64 {
	return stepTime(c, cfg, Scale{Batch: c.refBatch, Global: c.refBatch})
}

func (c *collective) LogTimes(p *Point) (step, compute float64) {
	compute = c.LnCompute(p)
	return c.join(p, compute, c.lnSync(p)), compute
}

// LnCompute returns ln of the compute time.
func (c *collective) LnCompute(p *Point) float64 {
	by := c.launching()
	ln := logSumExp(by*c.lnFixed, by*(c.lnPer+p.LnBatch-c.lnRef))/by + p.LnSplit
	if c.crowding > 0 {
		ln += math.Log1p(c.crowding * (p.Widest - 1))
	}
	return ln
}

// launching is γ of Fixed and the rest of computing.
func (c *collective) launching() float64 {
	if c.launched {
		return 4
	}
	return 1
}

// lnSync returns ln of the synchronisation time, −Inf for one worker.
func (c *collective) lnSync(p *Point) float64 {
	if p.Workers <= 1 {
		return math.Inf(-1)
	}
	intra, inter := c.lnLinks(p)
	return logSumExp(4*intra, 4*inter)/4 + p.LnSplit
}

// lnLinks returns ln of the times inside nodes and between them, −Inf for none.
func (c *collective) lnLinks(p *Point) (intra, inter float64) {
	intra, inter = math.Inf(-1), math.Inf(-1)
	if p.Widest > 1 {
		few, more := lnOnNode(p)
		intra = c.lnIntra + p.LnLinks + p.LnRingWidest + c.intraPower*few + c.power*more
	}
	if p.Nodes > 1 {
		inter = c.lnInter + p.LnLinks + c.power*(p.LnNodes-math.Ln2)
		if p.Nodes > 2 {
			inter += c.lnTree
		}
		if c.hierarchical {
			inter += lnRing(p.Nodes)
		} else {
			inter += p.LnRing + c.power*(p.LnWorkers-p.LnNodes)
		}
	}
	return intra, inter
}

// lnOnNode returns ln of the growth from two workers on, of up to [GPUsPerNode] on a node and
// of more, which are on several, by links alike.
func lnOnNode(p *Point) (few, more float64) {
	few = math.Min(p.LnWidest, lnPerNode)
	return few - math.Ln2, p.LnWidest - few
}

// join returns ln of the step time.
func (c *collective) join(p *Point, compute, sync float64) float64 {
	return c.await(p, c.work(p, compute, sync))
}

// work returns ln of the step time if no worker waits for input.
func (c *collective) work(p *Point, compute, sync float64) float64 {
	if p.Workers <= 1 {
		return compute + math.Log1p(p.Accum)
	}
	step := logSumExp(c.overlap*compute, c.overlap*sync) / c.overlap
	if p.Accum > 0 {
		step = logSumExp(step, compute+math.Log(p.Accum))
	}
	return step
}

// await adds reading the input, which overlaps with the work fully, or not at all.
func (c *collective) await(p *Point, step float64) float64 {
	if c.shared == "" {
		return step
	}
	by := c.shared.overlap()
	return logSumExp(by*step, by*c.lnReading(p)) / by
}

// lnReading returns ln of the time to read the input.
func (c *collective) lnReading(p *Point) float64 {
	ln := c.lnInput + p.LnGlobal
	if c.shared == ByNode {
		ln += p.LnWidest - p.LnWorkers
	}
	return ln
}

// ComputePower returns the compute time to the power γ.
func (c *collective) ComputePower(lnCompute float64) float64 {
	return math.Exp(c.overlap * (lnCompute - c.lnUnit))
}

// SyncPower returns the synchronisation time to the power γ.
func (c *collective) SyncPower(p *Point) float64 { return c.ComputePower(c.lnSync(p)) }

// Raise returns the factor on SyncPower of a factor on communication, given ln of it.
func (c *collective) Raise(ln float64) float64 { return math.Exp(c.overlap * ln) }

// Join returns ln of the step time, given the powers of both parts.
func (c *collective) Join(p *Point, lnCompute, compute, sync float64) float64 {
	sum := compute + sync
	if p.Workers <= 1 || !(sum > 1e-300 && sum < 1e300) { // out of range
		return c.join(p, lnCompute, c.lnSync(p))
	}
	step := c.lnUnit + math.Log(sum)/c.overlap
	if p.Accum > 0 {
		step = logSumExp(step, lnCompute+math.Log(p.Accum))
	}
	return c.await(p, step)
}

func (c *collective) Params() []Param {
	ps := []Param{
		param("fixed", "s", math.Exp(c.lnFixed)),
		param("per_batch", "s", math.Exp(c.lnPer)),
		param("intra_node", "s", math.Exp(c.lnIntra)),
		param("inter_node", "s", math.Exp(c.lnInter)),
		param("tree", "", math.Exp(c.lnTree)),
		param("power", "", c.power),
		param("intra_power", "", c.intraPower),
		param("overlap", "", c.overlap),
	}
	if c.crowding > 0 {
		ps = append(ps, param("crowding", "", c.crowding))
	}
	if c.shared != "" {
		ps = append(ps, param("input", "s/sample", math.Exp(c.lnInput)))
	}
	return ps
}

// Coordinates of collective in the solver.
const (
	colCompute = iota // ln of the compute time at the typical batch
	colFixed          // logit of the share of it independent of the batch
	colOverlap        // see overlapAt
	colIntra          // ln, relative to the unit of time
	colInter          // ln, relative to Intra
	colTree           // ln
	colPower
	colIntraPower // ln
	colOptional   // crowding where workers share processors, and input where they share it
)

// collectiveForm scales Collective to one set of measurements.
type collectiveForm struct {
	batch, lnBatch, lnTime, lnStep, lnGlobal float64
	crowded                                  bool // workers share the processors of their node
	launched                                 bool
	shared                                   Sharing
}

func newCollective(_ data.Mode, _ []Point, s Scale, crowded bool) Form {
	return &collectiveForm{s.Batch, math.Log(math.Max(s.Batch, 1)), math.Log(s.Time), math.Log(s.Step), math.Log(s.Global), crowded, s.Launched, s.Shared}
}

func (f *collectiveForm) Names() []string {
	names := []string{"compute", "fixed_share", "overlap", "intra", "inter_over_intra", "tree", "power", "intra_power"}
	if f.crowded {
		names = append(names, "crowding")
	}
	if f.shared != "" {
		names = append(names, "input") // ln, relative to the typical step
	}
	return names
}

func (f *collectiveForm) Bind(x []float64) Curve {
	c := &collective{
		refBatch: f.batch, lnRef: f.lnBatch, lnUnit: f.lnTime + x[colCompute],
		lnIntra: f.lnTime + x[colIntra], lnTree: x[colTree], power: x[colPower], intraPower: math.Exp(x[colIntraPower]), overlap: overlapAt(x[colOverlap]), launched: f.launched,
	}
	c.lnFixed = c.lnUnit + math.Log(logistic(x[colFixed]))
	c.lnPer = c.lnFixed - x[colFixed]
	c.lnInter = c.lnIntra + x[colInter]
	if f.crowded {
		c.crowding = math.Exp(x[colOptional])
	}
	if f.shared != "" {
		c.shared, c.lnInput = f.shared, x[len(x)-1]+f.lnStep-f.lnGlobal
	}
	return c
}

// Starts implements [Form]: the prior mean, slow but overlapped
// synchronisation, and fast links inside nodes with slow ones between.
func (f *collectiveForm) Starts() []map[string]float64 {
	return []map[string]float64{
		{},
		{"overlap": 2, "intra": 1},
		{"overlap": -1, "intra": -2, "inter_over_intra": 1},
	}
}

func (f *collectiveForm) Gradient(x []float64) func(p *Point, step, compute []float64) {
	c, work := f.Bind(x).(*collective), f.workGradient(x)
	if f.shared == "" {
		return work
	}
	return func(p *Point, step, compute []float64) {
		work(p, step, compute)
		lnStep, _ := c.LogTimes(p)
		input := math.Exp(f.shared.overlap() * (c.lnReading(p) - lnStep)) // share of reading
		for j := range step {
			step[j] *= 1 - input
		}
		step[len(step)-1] = input
	}
}

// workGradient is Gradient if no worker waits for input.
func (f *collectiveForm) workGradient(x []float64) func(p *Point, step, compute []float64) {
	c, share, slope := f.Bind(x).(*collective), logistic(x[colFixed]), overlapSlope(x[colOverlap])
	return func(p *Point, step, compute []float64) {
		lnCompute := c.LnCompute(p)
		ofFixed := 1 / (1 + math.Exp(c.launching()*(p.LnBatch-c.lnRef-x[colFixed]))) // share of Fixed in the compute time
		compute[colCompute] = 1
		compute[colFixed] = ofFixed*(1-share) - (1-ofFixed)*share
		if f.crowded {
			crowd := c.crowding * (p.Widest - 1)
			compute[colOptional] = crowd / (1 + crowd)
		}
		if p.Workers <= 1 {
			copy(step, compute)
			return
		}
		lnIntra, lnInter := c.lnLinks(p)
		links := logSumExp(4*lnIntra, 4*lnInter) / 4
		sync := links + p.LnSplit
		opt := logSumExp(c.overlap*lnCompute, c.overlap*sync) / c.overlap
		last := 1. // share of the micro-step that synchronises
		if p.Accum > 0 {
			last = math.Exp(opt - c.work(p, lnCompute, sync))
		}
		w := math.Exp(c.overlap * (sync - opt))
		ofSync := last * w
		ofCompute := last*math.Exp(c.overlap*(lnCompute-opt)) + (1 - last)
		for j, d := range compute {
			step[j] = ofCompute * d
		}
		inter := math.Exp(4 * (lnInter - links))
		step[colIntra] = ofSync
		step[colInter] = ofSync * inter
		if p.Widest > 1 {
			few, more := lnOnNode(p)
			step[colIntraPower] = ofSync * (1 - inter) * few * c.intraPower
			step[colPower] = ofSync * (1 - inter) * more
		}
		if p.Nodes > 1 {
			step[colPower] += step[colInter] * (p.LnWorkers - math.Ln2)
		}
		if p.Nodes > 2 {
			step[colTree] = step[colInter]
		}
		step[colOverlap] = last * (w*sync + (1-w)*lnCompute - opt) * slope
	}
}
