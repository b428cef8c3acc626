package memory

import (
	"math"

	"knee/data"
)

// Coordinates of the form: natural logarithms of factors or bytes. Their priors
// are in [priors].
const (
	state      = iota // factor on parameters, gradients and optimizer state; if the size is unknown, bytes of all of it
	activation        // factor on activations of a sample of the whole model; if the size is unknown, bytes
	quadratic         // share of attention scores kept, small with kernels that recompute them; if the size is unknown, times their share over the typical one
	logits            // bytes per token and entry of the vocabulary
	overhead          // factor on all terms above
	constant          // bytes of CUDA context, buffers and workspace
	headroom          // usable share of a device's memory
	noise             // sd of ln peak memory of one configuration
	selective         // share of activations, without scores, that selective recomputation keeps
	coordinates
)

// Gaussian is a normal distribution.
type Gaussian struct {
	Mean float64 `json:"mean"`
	SD   float64 `json:"sd"`
}

// priors returns the priors for a transformer.
//
//   - state: mixed precision with Adam keeps 2 + 4 bytes for parameters and
//     gradients and 12 for the optimizer (ZeRO, SC'20, section 3.1, with
//     gradients in 32 bit); other set-ups differ a little.
//   - activation: 10 + 24/t bytes per token, layer and hidden unit, without
//     attention scores (Korthikanti et al., "Reducing activation recomputation
//     in large transformer models", 2022, equation 2).
//   - quadratic: 5·heads·tokens/hidden bytes more (same source), unless
//     FlashAttention recomputes the scores.
//   - logits: 4 bytes in 32 bit, and their gradients.
//   - overhead: memory held over memory counted, for gradients of activations,
//     communication buffers and fragmentation; learned.
//   - constant: a CUDA context is .3 to .5 GB; NCCL and cuBLAS take as much
//     again.
//   - headroom: memory that the driver reserves or fragmentation makes
//     unusable.
//   - noise: learned.
//   - selective: Megatron-LM recomputes attention scores alone and keeps the
//     rest (Korthikanti et al., section 5); torchtitan by default recomputes
//     every second layer, of which it keeps the input, 2 of 34 bytes. Mean and
//     sd of ln of the two shares.
func priors(a data.Architecture, from Prior) [coordinates]Gaussian {
	full, guessed, known := complete(a)
	p := [coordinates]Gaussian{
		state: {0, .2}, activation: {0, .5}, quadratic: {-1.5, 1.5}, logits: {math.Log(6), .7},
		overhead: from.Overhead, constant: {math.Log(1e9), .7}, headroom: {-.08, .05}, noise: from.Noise,
	}
	every2nd := math.Log((1 + 2./34) / 2)
	p[selective] = Gaussian{every2nd / 2, -every2nd / math.Sqrt2}
	if !known { // bytes, from small networks to large ones
		p[state], p[activation] = Gaussian{math.Log(5e9), 3}, Gaussian{math.Log(1e8), 3}
		p[quadratic].SD = math.Hypot(p[quadratic].SD, 3*guess) // the length, which counts twice, and the size of a head
	} else if a.Parameters == 0 && full.Vocab != a.Vocab {
		p[state].SD = math.Hypot(p[state].SD, guess)
	}
	p[activation].SD = math.Hypot(p[activation].SD, guess*float64(guessed))
	return p
}

// guess is the sd of ln of a size that is not given and taken to be typical.
const guess = .3

// typicalScores are the attention scores over the other activations, t = 1, of
// samples of 2048 tokens and heads of 128, as [complete] fills them in.
const typicalScores = 5. * 2048 / 128 / 34

// complete fills in what is not given for a transformer: samples of 2048
// tokens, a vocabulary of 50,304, heads of 128, and as many layers as make the
// hidden size 128 times the number of layers. guessed counts the filled-in
// sizes that activations depend on; known is false if the number of parameters
// is neither given nor derivable.
func complete(a data.Architecture) (full data.Architecture, guessed int, known bool) {
	if a.Parameters == 0 && (a.Layers == 0 || a.Hidden == 0) {
		return a, 0, false
	}
	if a.Layers == 0 || a.Hidden == 0 {
		l := math.Max(math.Round(math.Cbrt(a.Parameters/12/(128*128))), 1)
		if a.Layers == 0 {
			a.Layers = int(l)
		}
		if a.Hidden == 0 {
			a.Hidden = int(math.Max(math.Round(math.Sqrt(a.Parameters/12/float64(a.Layers))), 1))
		}
		guessed++
	}
	if a.SeqLen == 0 {
		a.SeqLen = 2048
		guessed += 2 // counts twice: 512 to 8192 are common
	}
	if a.Vocab == 0 {
		a.Vocab = 50304
	}
	if a.Heads == 0 {
		a.Heads = max(a.Hidden/128, 1)
	}
	return a, guessed, true
}

// Bytes per parameter of weights, gradients and optimizer state.
const (
	weightBytes, gradientBytes, optimizerBytes = 2., 4., 12.
	stateBytes                                 = weightBytes + gradientBytes + optimizerBytes
)

// point is a configuration in the quantities of the form.
type point struct {
	split, shards float64 // tensor-parallel degree; share of the layers on a stage
	held          float64 // bytes of state per parameter that a replica's device holds, before tensor and pipeline parallelism
	first, last   stage
	tokens        float64 // tokens × vocabulary of a micro-batch on one device of the last stage
	embedding     float64 // share of the parameters in embeddings, on the first and last stage
	selective     bool    // selective recomputation
	parameters    float64
	perSample     float64 // bytes of activations of a sample of the whole model, t = 1
}

// stage is what a device of a pipeline stage keeps of the forward pass.
type stage struct {
	activations float64 // in samples of the whole model
	scores      float64 // bytes of attention scores, if all are kept
}

// pointOf returns the point of a configuration.
func pointOf(c data.Config, a data.Architecture) point {
	a, _, known := complete(a)
	t, stages, cp := float64(max(c.TP, 1)), float64(max(c.PP, 1)), float64(max(c.CP, 1))
	d := float64(c.Replicas())
	b, m := math.Max(c.LocalBatch, 1e-6), float64(c.AccumSteps+1)
	p := point{split: t, selective: c.Recompute == "selective", parameters: 1, perSample: 1}
	optimizer := optimizerBytes
	if c.Offload == "cpu" || c.Offload == "optimizer" {
		optimizer = 0
	}
	switch c.Sharding {
	case "zero1":
		p.held = weightBytes + gradientBytes + optimizer/d
	case "zero2":
		p.held = weightBytes + (gradientBytes+optimizer)/d
	case "zero3":
		p.held = (weightBytes + gradientBytes + optimizer) / d
	case "hybrid":
		p.held = (weightBytes + gradientBytes + optimizer) / math.Min(d, float64(max(c.WidestNode(), 1)))
	default:
		p.held = weightBytes + gradientBytes + optimizer
	}
	layers := 1 / stages // share of the layers on a stage
	if a.Layers > 0 {
		layers = math.Ceil(float64(a.Layers)/stages) / float64(a.Layers)
	}
	// In 1F1B the first stage keeps the activations of at most as many
	// micro-batches as there are stages (Narayanan et al., SC'21, section
	// 2.2.1).
	flight := math.Min(m, stages)
	perLayer := (10 + 24/t) / 34 // relative to t = 1
	keep := func(layers, flight float64) stage {
		one := 1. / 24 // one of a typical number of layers
		if a.Layers > 0 {
			one = 1 / float64(a.Layers)
		}
		switch {
		case c.Offload == "activations":
			return stage{b / cp * perLayer * one, b / (t * cp) * one}
		case c.Recompute == "full": // the input of each layer, and one layer in full
			return stage{b / cp * (layers*flight*2/34 + perLayer*one), b / (t * cp) * one}
		case c.Recompute == "selective":
			return stage{b / cp * layers * flight * perLayer, b / (t * cp) * one}
		}
		return stage{b / cp * layers * flight * perLayer, b / (t * cp) * layers * flight}
	}
	p.first, p.last, p.shards = keep(layers, flight), keep(layers, 1), layers
	if !known { // relative to the activations
		p.first.scores, p.last.scores = p.first.scores*typicalScores, p.last.scores*typicalScores
		return p
	}
	s, h, l, vocab := float64(a.SeqLen), float64(a.Hidden), float64(a.Layers), float64(a.Vocab)
	p.parameters, p.perSample = a.Count(), 34*s*h*l
	p.embedding = math.Min(vocab*h/p.parameters, .9)
	scores := 5 * s * s * l * float64(a.Heads)
	p.first.scores, p.last.scores = p.first.scores*scores, p.last.scores*scores
	p.tokens = b * s / cp * vocab / t
	return p
}

// ln returns ln of the peak memory in bytes, of the fuller of the first and
// last stage.
func (p *point) ln(x *[coordinates]float64) float64 {
	first, last := p.parts(x)
	return math.Log(math.Max(first.total(), last.total()))
}

// parts are bytes on one device.
type parts struct{ state, activations, logits, constant float64 }

func (p parts) total() float64 { return p.state + p.activations + p.logits + p.constant }

// parts returns the bytes on a device of the first and of the last stage.
func (p *point) parts(x *[coordinates]float64) (first, last parts) {
	held := math.Exp(x[state]) * p.parameters * p.held / p.split
	held *= math.Exp(x[overhead])
	held *= p.embedding + (1-p.embedding)*p.shards
	act := math.Exp(x[activation]+x[overhead]) * p.perSample
	if p.selective {
		act *= math.Exp(x[selective])
	}
	scores := math.Min(math.Exp(x[quadratic]), 1) * math.Exp(x[overhead])
	if p.parameters == 1 { // the size is unknown
		held /= stateBytes // the coordinate is already the sum
		scores = math.Exp(x[quadratic] + x[activation] + x[overhead])
	}
	c := math.Exp(x[constant])
	return parts{held, act*p.first.activations + scores*p.first.scores, 0, c}, parts{held, act*p.last.activations + scores*p.last.scores, math.Exp(x[logits]+x[overhead]) * p.tokens, c}
}
