package memory

import (
	"cmp"
	"math"
	"slices"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/stat/distuv"

	"knee/data"
)

// Coordinates of the form. Shares lie between two implementations of which either may be in
// use, mapped by [share]; the others are natural logarithms. Their priors are in [Prior.of].
const (
	state       = iota // factor on parameters, gradients and optimizer state
	gradients          // share: gradients in 16 or in 32 bit
	activation         // factor on activations
	sequence           // share of activations outside tensor parallelism that sequence parallelism divides by t too
	scores             // share of attention scores kept: none with FlashAttention, or all
	scoreBytes         // factor on the bytes of all attention scores
	logits             // bytes per token and entry of the vocabulary
	overhead           // factor on all terms above
	constant           // bytes of CUDA context, buffers and workspace
	headroom           // usable share of a device's memory
	noise              // sd of ln peak memory of one configuration
	selective          // share of activations, without scores, that selective recomputation keeps of those it may drop
	recomputed         // share of the recomputed scores of a layer that are held at the peak
	offloaded          // share of parameters and gradients that stay on the device if state is offloaded
	experts            // share of parameters in experts, if their number is unknown
	reported           // share of the last stage's memory that records show: none if rank 0 alone reports, or all
	discrepancy        // ln of the sd of exponents by which activations and logits grow otherwise with tokens
	power              // these exponents of growth, over that sd
	curvature
	beyond
	coordinates
)

// share maps a normal variate to a share: none, all, or between, equally likely.
func share(x float64) float64 {
	if math.Abs(x) < third { // otherwise without the time that math.Erfc takes
		return 1.5*math.Erfc(-x/math.Sqrt2) - 1
	}
	return (1 + math.Copysign(1, x)) / 2
}

// third is where the middle third of the standard normal distribution ends.
var third = distuv.UnitNormal.Quantile(2. / 3)

// Gaussian is a normal distribution.
type Gaussian struct {
	Mean float64 `json:"mean"`
	SD   float64 `json:"sd"`
}

// between is the distribution of ln of a quantity that lies between two
// bounds in nine cases of ten, within that of one at most a factor from usual.
func between(lo, hi float64) Gaussian {
	return Gaussian{math.Log(lo*hi) / 2, math.Log(hi/lo) / 2 / distuv.UnitNormal.Quantile(.95)}
}

func within(factor float64) Gaussian { return between(1/factor, factor) }

// and adds an independent uncertainty.
func (g Gaussian) and(other Gaussian) Gaussian {
	return Gaussian{g.Mean + other.Mean, math.Hypot(g.SD, other.SD)}
}

// of returns the priors for a transformer. Two sources with measured peaks
// are too few to learn more than two of them (halving or doubling the width of
// another changes errors by about a point); bounds of the others are physics.
//
//   - state: mixed precision with Adam keeps 2 bytes for a parameter, 2 or 4 for
//     its gradient and 12 for the optimizer (ZeRO, SC'20, section 3.1); momentum
//     in 32 bit takes 12 in all, Adam with buckets and averages in 32 bit 24.
//   - activation: 10 + 24/t bytes per token, layer and hidden unit, without
//     attention scores (Korthikanti et al., "Reducing activation recomputation
//     in large transformer models", 2022, equation 2); twice that in 32 bit, half
//     of it if operations are fused. Tokens pass one expert (Switch) to eight
//     (DeepSeek-V2).
//   - sequence: 34/t bytes instead with sequence parallelism (same source, section 4.2.2).
//   - scores: 5·heads·tokens/hidden bytes more (same source), unless
//     FlashAttention recomputes them; twice that in 32 bit, half without dropout.
//   - logits: 2 bytes in 16 bit; a copy in 32 bit, the softmax, and gradients of
//     all take up to 16.
//   - overhead: memory held over memory counted, for gradients of activations,
//     communication buffers and fragmentation; learned.
//   - constant: a CUDA context is .3 to .5 GB; NCCL, cuBLAS and buffers take up to
//     six times as much again.
//   - headroom: memory that the driver reserves or fragmentation makes
//     unusable.
//   - noise, discrepancy: learned.
//   - selective: Megatron-LM recomputes attention scores alone and keeps the
//     rest (Korthikanti et al., section 5); torchtitan by default recomputes
//     every second layer.
//   - recomputed: a layer's scores are gone before the logits come.
//   - offloaded: Megatron-LM offloads the optimizer, FSDP all of the state.
//   - reported: DeepSpeed and torchtitan print the peak of rank 0, which is on
//     the first stage; others take the fullest device.
func (learned Prior) of(a data.Architecture) [coordinates]Gaussian {
	full, guessed, known := complete(a)
	either := Gaussian{0, 1} // of a share
	p := [coordinates]Gaussian{
		state: within(math.Sqrt2), activation: within(2), scoreBytes: within(2), logits: between(2, 16),
		overhead: learned.Overhead, constant: between(.3e9, 3e9), headroom: between(.85, 1), noise: learned.Noise,
		gradients: either, sequence: either, scores: either, selective: either, recomputed: either, offloaded: either, experts: either,
		reported: either, discrepancy: learned.Discrepancy, power: either, curvature: either, beyond: either,
	}
	if !known { // 5 GB of state and .1 GB for a sample, from small networks to large ones
		p[state] = Gaussian{math.Log(5e9 / full.Count() / floats.Sum(stateBytes[:])), 3}
		p[activation] = Gaussian{math.Log(1e8 / activationsOf(full)), 3}
	} else if a.Parameters == 0 && full.Vocab != a.Vocab {
		p[state] = p[state].and(within(1.5)) // a vocabulary of 32,000 to 256,000
	}
	if a.SeqLen == 0 {
		p[scoreBytes] = p[scoreBytes].and(length) // scores grow with its square
	}
	p[activation] = p[activation].and(guessed)
	if a.Experts > 1 {
		p[activation] = p[activation].and(between(1, (15+19*8)/34.))
	}
	return p
}

// length is of samples of unknown length, of 512 to 8192 tokens.
var length = within(4)

// complete fills in what is not given for a transformer: samples of 2048
// tokens, a vocabulary of 50,304, heads of 128, and as many layers as make the
// hidden size 128 times the number of layers. guessed is what activations may be
// over those of the sizes filled in. If the number of parameters is neither given
// nor derivable, known is false, and full typical but without a vocabulary.
func complete(a data.Architecture) (full data.Architecture, guessed Gaussian, known bool) {
	if a.Parameters == 0 && (a.Layers == 0 || a.Hidden == 0) {
		return data.Architecture{Layers: cmp.Or(a.Layers, 24), Hidden: 2048, Heads: 16, SeqLen: cmp.Or(a.SeqLen, 2048)}, guessed, false
	}
	if a.Layers == 0 || a.Hidden == 0 {
		layer := 4 + 8*float64(max(a.Experts, 1)) // parameters of a layer over the square of the hidden size
		a.Layers = cmp.Or(a.Layers, max(int(math.Round(math.Cbrt(a.Parameters/layer/(128*128)))), 1))
		a.Hidden = cmp.Or(a.Hidden, max(int(math.Round(math.Sqrt(a.Parameters/layer/float64(a.Layers)))), 1))
		guessed = within(1.5) // as in table 2.1 of GPT-3 (Brown et al., 2020)
	}
	if a.SeqLen == 0 {
		a.SeqLen = 2048
		guessed = guessed.and(length)
	}
	a.Vocab, a.Heads = cmp.Or(a.Vocab, 50304), cmp.Or(a.Heads, max(a.Hidden/128, 1))
	return a, guessed, true
}

// activationsOf returns the bytes of activations of a sample, t = 1.
func activationsOf(a data.Architecture) float64 {
	return 34 * float64(a.SeqLen) * float64(a.Hidden) * float64(a.Layers)
}

// Bytes per parameter of weights, gradients (at most) and optimizer state.
var stateBytes = held{2, 4, 12}

// held are weights, gradients and optimizer state that a device holds.
type held [3]float64

// heldOf returns the parameters whose state each of n devices holds. Fully sharded weights
// are gathered a layer at a time, the next in advance (Zhao et al., "PyTorch FSDP",
// VLDB'23, section 3.4).
func heldOf(parameters float64, c data.Config, n, layers float64) (h held) {
	from, sharded := map[string]int{"zero1": 2, "zero2": 1, "zero3": 0, "hybrid": 0}[c.Sharding]
	if c.Sharding == "hybrid" {
		n = math.Min(n, math.Max(float64(c.WidestNode()/(max(c.TP, 1)*max(c.CP, 1))), 1))
	}
	for i := range h {
		if h[i] = parameters; sharded && i >= from {
			h[i] /= n
		}
	}
	h[0] += (parameters - h[0]) * math.Min(2/layers, 1)
	return h
}

// point is a configuration in the quantities of the form.
type point struct {
	dense, expert held      // outside experts and in them, if all parameters were there
	first, last   stage     // of the pipeline; the same without one
	selective     bool      // selective recomputation
	offload       int       // index of factors.state
	tokens        float64   // ln of those of a micro-batch
	growth        growth    // of tokens over those measured
	knobs         []float64 // weights of factors.knobs, for activations and for state
	input         input
}

// stage is what a device of a pipeline stage keeps of the forward pass: bytes of
// activations without sequence parallelism, those that it saves, attention scores,
// and those of a layer that is recomputed; and tokens × vocabulary of a micro-batch.
type stage struct{ activations, saved, scores, recomputed, logits float64 }

// growth is of a ratio to the middle of those measured: its ln, which follows a power; ln
// of the hyperbolic cosine of that, which follows a sum of powers; and ln of the ratio to
// the nearest measured, as trends may end. Of factors: their exponents.
type growth [3]float64

// growthOf returns the growth of a quantity, given the range measured, in logarithms.
func growthOf(of float64, measured [2]float64) growth {
	u := of - (measured[0]+measured[1])/2
	lnCosh := math.Abs(u) + math.Log1p(math.Exp(-2*math.Abs(u))) - math.Ln2
	return growth{u, lnCosh, of - min(max(of, measured[0]), measured[1])}
}

// pointOf returns a point without what relates it to those measured.
func pointOf(c data.Config, a data.Architecture) point {
	a, _, _ = complete(a)
	t, stages, cp, ep := float64(max(c.TP, 1)), float64(max(c.PP, 1)), float64(max(c.CP, 1)), float64(max(c.EP, 1))
	n, vocab := float64(a.Layers), float64(a.Vocab)
	share := math.Ceil(n/stages) / n // of the layers, on a stage
	p := point{selective: c.Recompute == "selective"}
	p.offload = max(slices.Index(offloads, c.Offload), 0)

	// Embeddings are on the first and last stage. Ranks of a context share their
	// state; experts are divided among replicas.
	embedding := math.Min(vocab*float64(a.Hidden)/a.Count(), .9)
	parameters, d := a.Count()*(embedding+(1-embedding)*share)/t, float64(c.Replicas())*cp
	p.dense, p.expert = heldOf(parameters, c, d, n*share), heldOf(parameters/ep, c, math.Max(d/ep, 1), n*share)
	if a.Experts > 0 {
		for i, f := 0, a.InExperts(); i < len(p.dense); i++ {
			p.dense[i] += f * (p.expert[i] - p.dense[i])
		}
		p.expert = p.dense
	}

	// In 1F1B the first stage keeps the activations of at most as many micro-batches as
	// there are stages (Narayanan et al., SC'21, 2.2.1).
	samples := math.Max(c.LocalBatch, 1e-6) / cp
	p.tokens = math.Log(samples) + math.Log(float64(a.SeqLen))
	p.input = inputOf(c, a, p.tokens)
	layer := activationsOf(a) * samples / n
	kept, saved := (10+24/t)/34*layer, 10*(1-1/t)/34*layer
	scores := layer * 5 * float64(a.SeqLen) * float64(a.Heads) / float64(a.Hidden) / 34 / t
	keep := func(layers float64) stage {
		switch {
		case c.Offload == "activations":
			return stage{kept, saved, scores, 0, 0}
		case c.Recompute == "full": // the input of each layer, and one layer in full
			inputs := layer * layers * 2 / 34
			return stage{inputs + kept, inputs*(1-1/t) + saved, 0, scores, 0}
		case c.Recompute == "selective":
			return stage{kept * layers, saved * layers, 0, scores, 0}
		}
		return stage{kept * layers, saved * layers, scores * layers, 0, 0}
	}
	p.first, p.last = keep(n*share*math.Min(float64(c.AccumSteps+1), stages)), keep(n*share)
	if p.last.logits = samples * float64(a.SeqLen) * vocab / t; stages == 1 {
		p.first = p.last
	}
	return p
}

// offloads are the words of [factors].state; others leave all on the device.
var offloads = []string{"", "optimizer", "cpu"}

// factors are the quantities that coordinates stand for.
type factors struct {
	state                          [3]held // bytes per parameter, by offload
	experts, selective, reported   float64 // shares
	sequence                       float64
	activations, scores, again     float64 // of stage's bytes
	logits, constant, headroom, sd float64
	growth                         growth    // exponents
	knobs                          []float64 // effects of the study's own knobs, on activations and then on state
}

func factorsOf(x []float64) factors {
	over := math.Exp(x[overhead])
	f := factors{
		experts: share(x[experts]), reported: share(x[reported]), sequence: share(x[sequence]), selective: everySecond + (1-everySecond)*share(x[selective]),
		activations: over * math.Exp(x[activation]), logits: over * math.Exp(x[logits]),
		constant: math.Exp(x[constant]), headroom: x[headroom], sd: math.Exp(x[noise]),
	}
	for i, exponent := range x[power : beyond+1] {
		f.growth[i] = math.Exp(x[discrepancy]) * exponent
	}
	for _, own := range x[coordinates:] {
		f.knobs = append(f.knobs, effect(own))
	}
	f.scores = f.activations * share(x[scores]) * math.Exp(x[scoreBytes])
	f.again = f.scores * share(x[recomputed])
	all := stateBytes
	all[1] *= (1 + share(x[gradients])) / 2
	for i := range all {
		all[i] *= over * math.Exp(x[state])
	}
	kept := share(x[offloaded])
	f.state = [3]held{all, {all[0], all[1], 0}, {all[0] * kept, all[1] * kept, 0}}
	return f
}

// ln returns ln of the peak bytes, of the fuller of the first and last stage.
func (p *point) ln(f *factors) float64 {
	first, last := p.parts(f)
	return math.Log(max(first.total(), last.total()))
}

// lnReported returns ln of the bytes that a record of the peak shows.
func (p *point) lnReported(f *factors) float64 {
	first, last := p.parts(f)
	return math.Log(max(first.total(), f.reported*last.total()))
}

// parts are bytes on one device.
type parts struct{ state, activations, logits, constant float64 }

func (p parts) total() float64 { return p.state + p.activations + p.logits + p.constant }

// parts returns the bytes on a device of the first and of the last stage.
func (p *point) parts(f *factors) (first, last parts) {
	var sum float64
	for i, bytes := range f.state[p.offload] {
		sum += bytes * (p.dense[i] + f.experts*(p.expert[i]-p.dense[i]))
	}
	kept := f.activations
	if p.selective {
		kept *= f.selective
	}
	own := p.growth[0]*f.growth[0] + p.growth[1]*f.growth[1] + p.growth[2]*f.growth[2]
	if n := len(p.knobs); n > 0 {
		own += floats.Dot(p.knobs, f.knobs[:n])
		sum *= math.Exp(floats.Dot(p.knobs, f.knobs[n:]))
	}
	own = math.Exp(own)
	of := func(s stage) parts {
		activations := (s.activations-f.sequence*s.saved)*kept + s.scores*f.scores + s.recomputed*f.again
		return parts{sum, own * activations, own * f.logits * s.logits, f.constant}
	}
	if last = of(p.last); p.first == p.last {
		return last, last
	}
	return of(p.first), last
}

// everySecond is the share of activations that remains if every second layer is
// recomputed, from its input, 2 of 34 bytes.
const everySecond = (1 + 2./34) / 2
