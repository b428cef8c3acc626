package memory

import (
	"cmp"
	"math"

	"gonum.org/v1/gonum/floats"

	"knee/data"
)

// Coordinates of the form. Shares lie between two implementations of which
// either may be in use, mapped by [share]; the others are natural logarithms.
// Their priors are in [priors].
const (
	state      = iota // factor on parameters, gradients and optimizer state; if the size is unknown, bytes of all of it
	gradients         // share: gradients in 16 or in 32 bit
	activation        // factor on activations of a sample of the whole model; if the size is unknown, bytes
	scores            // share of attention scores kept: none with FlashAttention, or all
	scoreBytes        // factor on the bytes of all attention scores
	logits            // bytes per token and entry of the vocabulary
	overhead          // factor on all terms above
	constant          // bytes of CUDA context, buffers and workspace
	headroom          // usable share of a device's memory
	noise             // sd of ln peak memory of one configuration
	selective         // share of activations, without scores, that selective recomputation keeps of those it may drop
	recomputed        // share of the recomputed scores of a layer that are held at the peak
	offloaded         // share of parameters and gradients that stay on the device if state is offloaded
	experts           // share of parameters in experts, if their number is unknown
	coordinates
)

// share maps a standard normal variate to a share: none, all, or any between,
// with a third of the probability each.
func share(x float64) float64 {
	return min(max(1.5*math.Erfc(-x/math.Sqrt2)-1, 0), 1)
}

// Gaussian is a normal distribution.
type Gaussian struct {
	Mean float64 `json:"mean"`
	SD   float64 `json:"sd"`
}

// priors returns the priors for a transformer.
//
//   - state: mixed precision with Adam keeps 2 bytes for a parameter, 2 or 4 for
//     its gradient and 12 for the optimizer (ZeRO, SC'20, section 3.1); other
//     set-ups differ a little.
//   - activation: 10 + 24/t bytes per token, layer and hidden unit, without
//     attention scores (Korthikanti et al., "Reducing activation recomputation
//     in large transformer models", 2022, equation 2). Tokens pass one expert
//     (Switch) to eight (DeepSeek-V2).
//   - scores: 5·heads·tokens/hidden bytes more (same source), unless
//     FlashAttention recomputes them.
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
//     every second layer.
//   - recomputed: a layer's scores are gone before the logits come.
//   - offloaded: Megatron-LM offloads the optimizer, FSDP all of the state.
func priors(a data.Architecture, from Prior) [coordinates]Gaussian {
	full, guessed, known := complete(a)
	either := Gaussian{0, 1} // of a share
	p := [coordinates]Gaussian{
		state: {0, .2}, gradients: either, activation: {0, .5}, scores: either, scoreBytes: {0, guess}, logits: {math.Log(6), .7},
		overhead: from.Overhead, constant: {math.Log(1e9), .7}, headroom: {-.08, .05}, noise: from.Noise,
		selective: either, recomputed: either, offloaded: either, experts: either,
	}
	if !known { // bytes, from small networks to large ones
		p[state], p[activation] = Gaussian{math.Log(5e9), 3}, Gaussian{math.Log(1e8), 3}
	} else if a.Parameters == 0 && full.Vocab != a.Vocab {
		p[state].SD = math.Hypot(p[state].SD, guess)
	}
	if a.SeqLen == 0 {
		p[scoreBytes].SD = 2 * guess // scores grow with the square of the length, activations with the length
	}
	p[activation].SD = math.Hypot(p[activation].SD, guess*float64(guessed))
	if a.Experts > 1 {
		most := math.Log((15 + 19*8) / 34.)
		p[activation] = Gaussian{p[activation].Mean + most/2, math.Hypot(p[activation].SD, most/math.Sqrt2)}
	}
	return p
}

// guess is the sd of ln of a size that is not given and taken to be typical.
const guess = .3

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
		layer := 4 + 8*float64(max(a.Experts, 1)) // parameters of a layer over the square of the hidden size
		l := math.Max(math.Round(math.Cbrt(a.Parameters/layer/(128*128))), 1)
		if a.Layers == 0 {
			a.Layers = int(l)
		}
		if a.Hidden == 0 {
			a.Hidden = int(math.Max(math.Round(math.Sqrt(a.Parameters/layer/float64(a.Layers))), 1))
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

// Bytes per parameter of weights, gradients (at most) and optimizer state.
var stateBytes = [3]float64{2, 4, 12}

// held are the shares of weights, gradients and optimizer state that a device
// holds, before tensor and pipeline parallelism.
type held [3]float64

// heldOf returns what each of n devices holds of state that they share. Fully
// sharded weights are gathered a layer at a time, the next one in advance (Zhao
// et al., "PyTorch FSDP", VLDB'23, section 3.4).
func heldOf(c data.Config, n, layers float64) held {
	first := map[string]int{"zero1": 2, "zero2": 1, "zero3": 0, "hybrid": 0}
	h := held{1, 1, 1}
	from, sharded := first[c.Sharding]
	if !sharded {
		return h
	}
	if c.Sharding == "hybrid" {
		n = math.Min(n, math.Max(float64(c.WidestNode()/(max(c.TP, 1)*max(c.CP, 1))), 1))
	}
	for i := from; i < len(h); i++ {
		h[i] /= n
	}
	h[0] += (1 - h[0]) * math.Min(2/layers, 1)
	return h
}

// point is a configuration in the quantities of the form.
type point struct {
	split, shards float64 // tensor-parallel degree; share of the layers on a stage
	dense, expert held    // of parameters outside experts, and in them
	inExperts     float64 // share of the parameters in experts, −1 if unknown
	first, last   stage
	tokens        float64 // tokens × vocabulary of a micro-batch on one device of the last stage
	embedding     float64 // share of the parameters in embeddings, on the first and last stage
	selective     bool    // selective recomputation
	offload       string
	known         bool // the size of the model
	parameters    float64
	perSample     float64 // bytes of activations of a sample of the whole model, t = 1
}

// stage is what a device of a pipeline stage keeps of the forward pass.
type stage struct {
	activations float64 // in samples of the whole model
	scores      float64 // attention scores kept, and those of a layer recomputed: likewise, if all of them are held
	recomputed  float64
}

// pointOf returns the point of a configuration.
func pointOf(c data.Config, a data.Architecture) point {
	a, _, known := complete(a)
	t, stages, cp, ep := float64(max(c.TP, 1)), float64(max(c.PP, 1)), float64(max(c.CP, 1)), float64(max(c.EP, 1))
	b, m := math.Max(c.LocalBatch, 1e-6), float64(c.AccumSteps+1)
	n := float64(cmp.Or(a.Layers, 24)) // typical
	layers := math.Ceil(n/stages) / n
	p := point{split: t, shards: layers, selective: c.Recompute == "selective", offload: c.Offload, known: known, parameters: 1, perSample: 1}
	// Ranks of a context share their state; experts are divided among replicas.
	d := float64(c.Replicas()) * cp
	p.dense, p.expert = heldOf(c, d, n*layers), heldOf(c, math.Max(d/ep, 1), n*layers)
	for i := range p.expert {
		p.expert[i] /= ep
	}
	if p.inExperts = -1; known && a.Experts > 0 {
		p.inExperts = a.InExperts()
	}
	// In 1F1B the first stage keeps the activations of at most as many
	// micro-batches as there are stages (Narayanan et al., SC'21, section
	// 2.2.1).
	perLayer := (10 + 24/t) / 34 // relative to t = 1
	keep := func(flight float64) stage {
		all, one, s := layers*flight, 1/n, stage{}
		switch {
		case c.Offload == "activations":
			s = stage{perLayer * one, one / t, 0}
		case c.Recompute == "full": // the input of each layer, and one layer in full
			s = stage{all*2/34 + perLayer*one, 0, one / t}
		case c.Recompute == "selective":
			s = stage{perLayer * all, 0, one / t}
		default:
			s = stage{perLayer * all, all / t, 0}
		}
		relative := scoresPerActivation(a) * b / cp
		return stage{s.activations * b / cp, s.scores * relative, s.recomputed * relative}
	}
	p.first, p.last = keep(math.Min(m, stages)), keep(1)
	if !known {
		return p
	}
	s, h, vocab := float64(a.SeqLen), float64(a.Hidden), float64(a.Vocab)
	p.parameters, p.perSample = a.Count(), 34*s*h*n
	p.embedding = math.Min(vocab*h/p.parameters, .9)
	p.tokens = b * s / cp * vocab / t
	return p
}

// scoresPerActivation are the bytes of attention scores over those of other
// activations, t = 1; typical if the size is unknown.
func scoresPerActivation(a data.Architecture) float64 {
	if a.SeqLen == 0 || a.Hidden == 0 {
		return 5. * 2048 / 128 / 34
	}
	return 5 * float64(a.SeqLen) * float64(a.Heads) / float64(a.Hidden) / 34
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

// state returns the bytes of state per parameter that a device holds, before
// tensor and pipeline parallelism.
func (p *point) state(x *[coordinates]float64) (sum float64) {
	bytes := stateBytes
	bytes[1] *= (1 + share(x[gradients])) / 2
	switch p.offload {
	case "cpu":
		kept := share(x[offloaded])
		bytes = [3]float64{bytes[0] * kept, bytes[1] * kept, 0}
	case "optimizer":
		bytes[2] = 0
	}
	f := p.inExperts
	if f < 0 && p.expert != p.dense {
		f = share(x[experts])
	}
	for i, b := range bytes {
		sum += b * ((1-f)*p.dense[i] + f*p.expert[i])
	}
	return sum
}

// parts returns the bytes on a device of the first and of the last stage.
func (p *point) parts(x *[coordinates]float64) (first, last parts) {
	held := math.Exp(x[state]+x[overhead]) * p.parameters * p.state(x) / p.split
	held *= p.embedding + (1-p.embedding)*p.shards
	if !p.known {
		held /= floats.Sum(stateBytes[:]) // the coordinate is already the sum
	}
	unit := math.Exp(x[activation]+x[overhead]) * p.perSample
	kept := 1.
	if p.selective {
		kept = everySecond + (1-everySecond)*share(x[selective])
	}
	whole := share(x[scores]) * math.Exp(x[scoreBytes])
	activations := func(s stage) float64 {
		return unit * (s.activations*kept + whole*(s.scores+s.recomputed*share(x[recomputed])))
	}
	c := math.Exp(x[constant])
	return parts{held, activations(p.first), 0, c}, parts{held, activations(p.last), math.Exp(x[logits]+x[overhead]) * p.tokens, c}
}

// everySecond is the share of activations that remains if every second layer is
// recomputed, from its input, 2 of 34 bytes.
const everySecond = (1 + 2./34) / 2
