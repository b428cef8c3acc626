package form

import (
	"math"
	"slices"

	"knee/data"
)

// layoutForm is knee's form for models divided over workers by tensor, pipeline
// and context parallelism, sharding and recomputation.
//
// With t tensor-parallel ranks, the tokens of a sample on c ranks, p stages, d
// replicas and m micro-batches of b samples, and times relative to one sample of
// the whole model on one worker, a micro-batch takes on a stage
//
//	C = (1+r)·(b/(t·c)·S ⊕ launch)·w,   w = D + head·(1 − D),   S = (1 + scores·a)/(1 + scores·a₀)
//	A = b·(1+r/2)·tensor·(R(t)/c + ¾·R(c)/t)·D    × tensor_inter if the ranks are on several nodes,
//	                                              else × (n/2)^intra_power of the n ranks
//
// with D the share of the layers on the fullest stage, r the relative time of
// recomputation, a [Offsets.Scores] and a₀ those of the model measured first, and R(n) =
// 2(n−1)/n as a ring sends. The c ranks pass keys and values around, of six matrices of a
// layer in all where tensors need eight (Liu et al., "Ring Attention", 2023). x ⊕ y is
// (x^γ + y^γ)^(1/γ). Launches run ahead of execution, with a γ of their own, near 1 where
// a GPU loses as much on every small matrix. Stages work in sequence, with a bubble (1F1B;
// Narayanan et al., "Efficient large-scale language model training on GPU clusters using
// Megatron-LM", SC'21, section 2.2):
//
//	pipe = (m + bubble·(p − 1))·(C + A + b·p2p)   p2p × E·l^share if the stages are on several nodes
//
// with E = inter·n^power between n nodes, whose link is shared by the l
// replicas of a stage on the node. Replicas sum gradients over a ring of d·c: G =
// gradient·R(d·c)/(t·p), inside a node × (d·c·t/2)^intra_power, between nodes ×
// E·t^share. This overlaps with the last micro-batch. Fully sharded parameters are gathered for each
// micro-batch (ZeRO, SC'20, section 7: half as much again):
//
//	step = pipe ⊕ G + optimizer/(t·p·(d·c if sharded)) + constant
//
// with γ of overlap, ⊕ of the last stage's time and G, or of the whole pipe under full
// sharding. Hybrid sharding gathers among the s replicas of a node, 3/2·m·gradient·R(s),
// which overlaps with the pipe, and sums its shards between nodes once per step,
// gradient·R(d/s)/s, which overlaps with the last micro-batch; the optimizer's share is 1/s.
// If experts are divided over e ranks, a token goes to two of them and back (Lepikhin et al.,
// "GShard", 2021), b·tensor·R(e)·D/(t·c) more, and each rank holds 1/e of the share f of
// parameters in experts: R(d·c) in G is (1−f)·R(d·c) + f·R(d·c/e)/e. A known size of the
// model shifts the coordinates by [Offsets].
type layoutForm struct {
	s        Scale
	measured Offsets // of the model measured first
	unfilled bool    // micro-batches of some measurements are unknown
}

func newLayout(_ data.Mode, pts []Point, s Scale, _ bool) Form {
	f := &layoutForm{s: s}
	if len(pts) > 0 {
		f.measured = pts[0].Offsets
		f.unfilled = slices.ContainsFunc(pts, func(p Point) bool { return p.MicroUnknown })
	}
	return f
}

// Offsets are the effects of a model's size on the coordinates of the layout form: logarithms
// relative to a reference model, Unit of its time per sample, the others relative to that.
type Offsets struct {
	Unit, Launch, Tensor, PointToPoint, Gradient, Head, Constant float64
	Layers, Hidden, SeqLen                                       int
	InExperts                                                    float64 // share of the parameters in experts
	Scores                                                       float64 // operations of attention with heads of 128, relative to all
}

// reference is the model for which all offsets are zero.
var reference = data.Architecture{Layers: 24, Hidden: 2048, SeqLen: 2048, Vocab: 51200}

// OffsetsOf returns the offsets of a model: operations grow with parameters and
// tokens, launches with layers, activations with tokens × hidden size,
// gradients with parameters. Zero if the size is unknown.
func OffsetsOf(a data.Architecture) Offsets {
	if !a.Known() {
		return Offsets{}
	}
	r := reference
	ln := func(x, of float64) float64 { return math.Log(x / of) }
	if a.Vocab == 0 {
		a.Vocab = r.Vocab
	}
	flops := ln(a.FLOPs(), r.FLOPs())
	tokens := ln(float64(a.SeqLen), float64(r.SeqLen))
	hidden, layers := ln(float64(a.Hidden), float64(r.Hidden)), ln(float64(a.Layers), float64(r.Layers))
	return Offsets{
		Unit: flops, Launch: layers - flops, Tensor: tokens + hidden + layers - flops, PointToPoint: tokens + hidden - flops,
		Gradient: ln(a.Count(), r.Count()) - flops, Head: tokens + hidden + ln(float64(a.Vocab), float64(r.Vocab)) - flops,
		Constant: -flops, Layers: a.Layers, Hidden: a.Hidden, SeqLen: a.SeqLen, InExperts: a.InExperts(), Scores: a.AttentionFLOPs() / a.FLOPs(),
	}
}

// OfComputing returns the offsets for a device orders of magnitude slower than
// those of the prior: its launches and links relative to computing do not
// follow from the size of the model, and keep the prior.
func (o Offsets) OfComputing() Offsets {
	return Offsets{Unit: o.Unit, Layers: o.Layers, Hidden: o.Hidden, SeqLen: o.SeqLen, InExperts: o.InExperts, Scores: o.Scores}
}

// Coordinates of the layout form: ln unless noted, relative to a sample of the whole model.
const (
	layCompute = iota // relative to the unit of time
	layLaunch
	layAhead     // logit: launches ahead of their execution
	layScores    // time of attention scores that are masked or written to memory, relative to that of their operations with heads of 128
	layRecompute // time of full recomputation relative to compute
	laySelective // the same for selective recomputation
	layTensor
	layIntraPower
	layTensorInter
	layPointToPoint
	layHead
	layBubble
	layGradient
	layInter
	layShare // power
	layPower
	layOverlap // logit
	layOptimizer
	layOffload // factor on the optimizer's time if it runs on the host
	layConstant
	layFill // factor on the bubble where micro-batches are unknown, if they are in some measurements
	layCount
)

func (f *layoutForm) Names() []string {
	names := []string{"compute", "launch", "launch_overlap", "scores", "recompute", "selective", "tensor", "intra_power", "tensor_inter", "p2p", "head", "bubble",
		"gradient", "inter", "share_power", "power", "overlap", "optimizer", "offload", "constant"}
	if f.unfilled {
		names = append(names, "fill")
	}
	return names
}

func (f *layoutForm) Starts() []map[string]float64 {
	return []map[string]float64{{}, {"tensor": 2, "gradient": 2}, {"launch": 2}}
}

func (f *layoutForm) Bind(x []float64) Curve { return &layoutCurve{f, slices.Clone(x)} }

func (f *layoutForm) Gradient(x []float64) func(p *Point, step, compute []float64) {
	return differences(f, x)
}

// layoutCurve is the layout form with its parameters set.
type layoutCurve struct {
	f *layoutForm
	x []float64
}

// LayoutParts are the parts of the time of a step, in seconds: computing,
// communication of tensors, pipeline bubble, synchronisation of gradients that
// does not overlap, optimizer, and a constant.
type LayoutParts struct{ Compute, Tensor, Bubble, Exposed, Optimizer, Constant float64 }

// Step is the sum of the parts.
func (l LayoutParts) Step() float64 {
	return l.Compute + l.Tensor + l.Bubble + l.Exposed + l.Optimizer + l.Constant
}

// parts returns the parts of a step, and the compute time of one micro-step.
func (c *layoutCurve) parts(p *Point) (l LayoutParts, micro float64) {
	x, o := c.x, &p.Offsets
	unit := c.f.s.Unit * math.Exp(x[layCompute]+o.Unit)
	n, stages := p.TP*p.CP, p.PP
	copies := p.Replicas * p.CP // of each parameter
	m, batch := p.micro()
	depth := 1 / stages
	if o.Layers > 0 {
		depth = math.Ceil(float64(o.Layers)/stages) / float64(o.Layers)
	}
	again := 0.
	switch p.Recompute {
	case "full":
		again = math.Exp(x[layRecompute])
	case "selective":
		again = math.Exp(x[laySelective])
	}
	scores := math.Exp(x[layScores])
	work := batch / n * (1 + scores*o.Scores) / (1 + scores*c.f.measured.Scores)
	launch := math.Exp(x[layLaunch] + o.Launch)
	share := depth + (1-depth)*math.Min(math.Exp(x[layHead]+o.Head), 1)
	micro = (1 + again) * powerSum(work, launch, overlapAt(x[layAhead])) * share
	intraPower := math.Exp(x[layIntraPower])
	onNode := func(ranks float64) float64 { return math.Pow(math.Max(ranks/2, 1), intraPower) }
	var comm float64
	for _, among := range []struct{ ranks, of, span, volume float64 }{
		{p.TP, p.CP, p.TP, 1}, {p.CP, p.TP, n, .75}, {p.EP, n, n * p.EP, 1}, // tensors; keys and values; tokens of experts
	} {
		part := among.volume * batch / among.of * (1 + again/2) * math.Exp(x[layTensor]+o.Tensor) * ring(among.ranks) * depth
		if among.span > p.Widest {
			part *= math.Exp(x[layTensorInter])
		} else {
			part *= onNode(among.span)
		}
		comm += part
	}
	between := math.Exp(x[layInter] + x[layPower]*math.Log(p.Nodes) + p.LnLinks)
	if stages > 1 {
		send := batch * math.Exp(x[layPointToPoint]+o.PointToPoint)
		if p.Workers > p.Widest {
			send *= between * math.Pow(math.Min(p.Replicas, math.Max(p.Widest/n, 1)), x[layShare])
		}
		comm += send
	}
	bubble := math.Exp(x[layBubble]) * (stages - 1)
	if p.MicroUnknown && c.f.unfilled {
		bubble *= math.Exp(x[layFill])
	}
	pipe := (m + bubble) * (micro + comm)
	summed := func(among float64) float64 { // gradients of a stage, among so many copies inside a node
		return math.Exp(x[layGradient]+o.Gradient) * ((1-o.InExperts)*ring(among) + o.InExperts*ring(math.Max(among/p.EP, 1))/p.EP) / (p.TP * stages)
	}
	toOthers := between * math.Exp(x[layShare]*math.Log(p.TP))
	overlap := overlapAt(x[layOverlap])
	exposedBy := func(work, traffic float64) float64 { return math.Max(powerSum(work, traffic, overlap)-work, 0) }
	shards, grad, exposed := copies, summed(copies), 0.
	if copies*p.TP > p.Widest {
		grad *= toOthers
	} else {
		grad *= onNode(copies * p.TP)
	}
	switch p.Sharding {
	case "zero3":
		exposed = exposedBy(pipe, grad*1.5*m)
	case "hybrid":
		shards = math.Max(math.Min(copies, math.Floor(p.Widest/p.TP)), 1)
		exposed = exposedBy(pipe, summed(shards)*onNode(shards*p.TP)*1.5*m) + exposedBy(micro+comm, summed(copies/shards)/shards*toOthers)
	default:
		exposed = exposedBy(micro+comm, grad)
	}
	optimizer := math.Exp(x[layOptimizer]+o.Gradient) / (p.TP * stages)
	if p.Sharding != "" {
		optimizer /= shards
	} else {
		optimizer *= 1 - o.InExperts*(1-1/p.EP)
	}
	if p.Offload != "" {
		optimizer *= math.Exp(x[layOffload])
	}
	return LayoutParts{
		Compute: unit * m * micro, Tensor: unit * m * comm, Bubble: unit * bubble * (micro + comm), Exposed: unit * exposed,
		Optimizer: unit * optimizer, Constant: unit * math.Exp(x[layConstant]+o.Constant),
	}, unit * micro
}

// micro returns the micro-batches of a step and the samples of each. An unknown pipeline
// has four per stage, if there are samples: Narayanan et al. (section 2.2.1) advise far
// more than stages.
func (p *Point) micro() (m, batch float64) {
	m = p.Accum + 1
	if p.MicroUnknown && p.PP > 1 {
		m = math.Max(math.Min(p.Batch, 4*p.PP), 1)
		return m, p.Batch / m
	}
	return m, p.Batch
}

// ring is the traffic per link of a ring of n, relative to a ring of two.
func ring(n float64) float64 { return 2 * (n - 1) / n }

func (c *layoutCurve) LogTimes(p *Point) (step, compute float64) {
	l, micro := c.parts(p)
	return math.Log(l.Step()), math.Log(micro)
}

// StepTime implements [StepTimer], for a model of unknown size.
func (c *layoutCurve) StepTime(cfg data.Config) float64 {
	p := NewPoint(cfg, c.f.s)
	l, _ := c.parts(&p)
	return l.Step()
}

// Params implements [Fitted]: times are of the model measured first.
func (c *layoutCurve) Params() []Param {
	o := c.f.measured
	unit := c.f.s.Unit * math.Exp(c.x[layCompute]+o.Unit)
	shift := [layCount]float64{layLaunch: o.Launch, layTensor: o.Tensor, layPointToPoint: o.PointToPoint, layHead: o.Head,
		layGradient: o.Gradient, layOptimizer: o.Gradient, layConstant: o.Constant}
	var ps []Param
	for i, name := range c.f.Names() {
		switch v := math.Exp(c.x[i] + shift[i]); i {
		case layCompute:
			ps = append(ps, param(name, "s/sample", unit))
		case layShare, layPower:
			ps = append(ps, param(name, "", c.x[i]))
		case layOverlap, layAhead:
			ps = append(ps, param(name, "", overlapAt(c.x[i])))
		case layIntraPower, layTensorInter, layBubble, layInter, layScores, layRecompute, laySelective, layHead, layOffload, layFill:
			ps = append(ps, param(name, "", v))
		default:
			ps = append(ps, param(name, "s", unit*v))
		}
	}
	return ps
}

// LayoutPartsOf returns the parts of a step by the layout form; false for other forms.
func LayoutPartsOf(c Curve, p *Point) (l LayoutParts, ok bool) {
	f, ok := OfType(c, p.Type).(*layoutCurve)
	if !ok {
		return l, false
	}
	l, _ = f.parts(p)
	return l, true
}

// Unit returns the unit of time of the form for measured step times: the mean time of a
// sample on one worker, if computing takes all of the step.
func Unit(pts []Point, steps []float64) float64 {
	var sum float64
	for i := range pts {
		p := &pts[i]
		m, batch := p.micro()
		unit := steps[i] * p.TP * p.CP * p.PP / (batch * (m + p.PP - 1)) / math.Exp(p.Offsets.Unit)
		sum += math.Log(unit) / float64(len(pts))
	}
	return math.Exp(sum)
}

// changes of the layout form: coordinates that grow, and those that shrink as much.
func (c *layoutCurve) changes() map[string]func(factor float64) Fitted {
	between := []int{layTensorInter, layInter}
	all := map[string]func(float64) Fitted{
		"overlap": changing(c, func(c *layoutCurve, _ float64) {
			c.x = slices.Clone(c.x)
			c.x[layOverlap] = math.Inf(1)
		}),
	}
	for name, move := range map[string]struct{ up, down []int }{
		"compute":    {[]int{layCompute}, []int{layLaunch, layTensor, layPointToPoint, layGradient, layOptimizer, layConstant}},
		"launch":     {[]int{layLaunch}, nil},
		"tensor":     {[]int{layTensor}, nil},
		"intra_node": {[]int{layTensor, layGradient, layPointToPoint}, between},
		"inter_node": {between, nil},
		"gradient":   {[]int{layGradient}, nil},
		"bubble":     {[]int{layBubble}, nil},
	} {
		all[name] = changing(c, func(c *layoutCurve, factor float64) {
			c.x = slices.Clone(c.x)
			for _, i := range move.up {
				c.x[i] += math.Log(factor)
			}
			for _, i := range move.down {
				c.x[i] -= math.Log(factor)
			}
		})
	}
	return all
}
