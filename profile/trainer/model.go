package trainer

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"

	"gonum.org/v1/gonum/blas"
	"gonum.org/v1/gonum/blas/blas64"
)

// modelShape returns the layer widths of a named model, input first: on one core a batch of 32
// takes about 1 ms (small) and 5 ms (large), with gradients of 0.4 MB and 1.6 MB, so that
// both computing and communicating take time.
func modelShape(name string) ([]int, error) {
	switch name {
	case "small":
		return []int{64, 256, 128, classes}, nil
	case "large":
		return []int{128, 512, 256, classes}, nil
	}
	return nil, fmt.Errorf("model %q is unknown; want small or large", name)
}

// layer is fully connected: offsets in the flat vector, and the batch's activations.
type layer struct {
	in, out   int
	w, b      int       // offsets of the in × out weights and the out biases
	act, diff []float64 // batch × out: outputs, and gradient of the loss by the outputs
}

// model is a multilayer perceptron with rectified linear units and softmax cross-entropy.
// Parameters and gradients are flat vectors, perhaps padded with zeros.
type model struct {
	layers []layer
	used   int // parameters of the layers
	size   int // of the vector
}

// newModel lays out the named model, in a vector of at least messageBytes bytes.
func newModel(name string, messageBytes int64) (*model, error) {
	widths, err := modelShape(name)
	if err != nil {
		return nil, err
	}
	m := &model{}
	for i := range len(widths) - 1 {
		l := layer{in: widths[i], out: widths[i+1], w: m.size}
		l.b = l.w + l.in*l.out
		m.size = l.b + l.out
		m.layers = append(m.layers, l)
	}
	m.used, m.size = m.size, max(m.size, int((messageBytes+7)/8))
	return m, nil
}

func (m *model) bytes() int64 { return int64(m.size) * 8 }

func (m *model) inputs() int { return m.layers[0].in }

// initial returns parameters by He et al. (2015), of the output layer and biases zero, so that
// all classes are equally likely. Equal seeds give equal parameters.
func (m *model) initial(seed int64) []float64 {
	rng := rand.New(rand.NewPCG(uint64(seed), streamParams))
	p := make([]float64, m.size)
	for _, l := range m.layers[:len(m.layers)-1] {
		scale := math.Sqrt(2 / float64(l.in))
		for i := l.w; i < l.b; i++ {
			p[i] = scale * rng.NormFloat64()
		}
	}
	return p
}

// gradient overwrites grad with scale > 0 times the gradient of the batch's mean loss at
// params, both of m.size. It returns the mean loss and the sum of the squared norms of the
// samples' own gradients, unscaled.
func (m *model) gradient(grad, params []float64, b *batch, scale float64) (loss, sumSqr float64) {
	for i := range m.layers {
		l := &m.layers[i]
		l.act = slices.Grow(l.act[:0], b.n*l.out)[:b.n*l.out]
		l.diff = slices.Grow(l.diff[:0], b.n*l.out)[:b.n*l.out]
	}
	m.forward(params, b)
	loss = m.softmax(b, scale)
	m.backward(grad, params, b)
	unscale := float64(b.n) / scale
	return loss, m.sampleNorms(b) * unscale * unscale
}

// sampleNorms returns the sum of the squared norms of the samples' parts of the gradient. A
// layer's part is an outer product, so its norm is that of inputs times that of diffs
// (Goodfellow, "Efficient Per-Example Gradient Computations", 2015).
func (m *model) sampleNorms(b *batch) (sum float64) {
	for i := range m.layers {
		l := &m.layers[i]
		x := b.x
		if i > 0 {
			x = m.layers[i-1].act
		}
		for s := range b.n {
			// 1 is the squared input of the bias.
			sum += (1 + squaredNorm(x[s*l.in:(s+1)*l.in])) * squaredNorm(l.diff[s*l.out:(s+1)*l.out])
		}
	}
	return sum
}

// forward computes the activations of every layer; the last one's are logits.
func (m *model) forward(params []float64, b *batch) {
	x := general(b.n, m.inputs(), b.x)
	for i := range m.layers {
		l := &m.layers[i]
		bias := params[l.b : l.b+l.out]
		for s := range b.n {
			copy(l.act[s*l.out:], bias)
		}
		y := general(b.n, l.out, l.act)
		blas64.Gemm(blas.NoTrans, blas.NoTrans, 1, x, general(l.in, l.out, params[l.w:l.b]), 1, y)
		if i < len(m.layers)-1 {
			for j, v := range l.act {
				l.act[j] = max(v, 0)
			}
		}
		x = y
	}
}

// softmax returns the mean loss, and leaves scale times its gradient in the last diff.
func (m *model) softmax(b *batch, scale float64) (loss float64) {
	l := &m.layers[len(m.layers)-1]
	scale /= float64(b.n)
	for s := range b.n {
		z, d := l.act[s*l.out:(s+1)*l.out], l.diff[s*l.out:(s+1)*l.out]
		top := slices.Max(z) // subtracted so that exp cannot overflow
		var sum float64
		for j, v := range z {
			d[j] = math.Exp(v - top)
			sum += d[j]
		}
		loss += math.Log(sum) + top - z[b.labels[s]]
		for j := range d {
			d[j] *= scale / sum
		}
		d[b.labels[s]] -= scale
	}
	return loss / float64(b.n)
}

// backward turns the last layer's diff into the gradient of all parameters.
func (m *model) backward(grad, params []float64, b *batch) {
	for i := len(m.layers) - 1; i >= 0; i-- {
		l := &m.layers[i]
		x := general(b.n, m.inputs(), b.x)
		if i > 0 {
			x = general(b.n, l.in, m.layers[i-1].act)
		}
		dy := general(b.n, l.out, l.diff)
		blas64.Gemm(blas.Trans, blas.NoTrans, 1, x, dy, 0, general(l.in, l.out, grad[l.w:l.b]))
		bias := grad[l.b : l.b+l.out]
		clear(bias)
		for s := range b.n {
			for j, v := range l.diff[s*l.out : (s+1)*l.out] {
				bias[j] += v
			}
		}
		if i == 0 {
			break // nothing needs the gradient by the inputs
		}
		prev := &m.layers[i-1]
		blas64.Gemm(blas.NoTrans, blas.Trans, 1, dy, general(l.in, l.out, params[l.w:l.b]), 0, general(b.n, l.in, prev.diff))
		for j, v := range prev.act {
			if v <= 0 {
				prev.diff[j] = 0
			}
		}
	}
	clear(grad[m.used:])
}

func general(rows, cols int, v []float64) blas64.General {
	return blas64.General{Rows: rows, Cols: cols, Stride: cols, Data: v}
}

// The generated classification problem. Classes are mixtures of Gaussian clusters, for which a
// linear model is not enough; clusters overlap and some labels are wrong, as in real data.
const (
	classes          = 10
	clustersPerClass = 4
	centreSpread     = 0.45 // standard deviation of a centre's coordinates, in units of the noise
	labelNoise       = 0.05 // share of labels replaced by random ones
)

// Streams of the seed: independent random sequences.
const (
	streamCentres = 0x6b6e6565_00000001
	streamParams  = 0x6b6e6565_00000002
	streamSamples = 0x6b6e6565_00000003
)

// dataset generates samples on demand, each a pure function of the seed and its number:
// workers draw disjoint shards without communication.
type dataset struct {
	inputs  int
	seed    uint64
	centres []float64 // classes·clustersPerClass × inputs
	src     rand.PCG
}

type batch struct {
	n      int
	x      []float64 // n × inputs
	labels []int     // n
}

func newDataset(inputs int, seed int64) *dataset {
	d := &dataset{inputs: inputs, seed: uint64(seed)}
	rng := rand.New(rand.NewPCG(d.seed, streamCentres))
	d.centres = make([]float64, classes*clustersPerClass*inputs)
	for i := range d.centres {
		d.centres[i] = centreSpread * rng.NormFloat64()
	}
	return d
}

func (d *dataset) newBatch(n int) *batch {
	return &batch{n: n, x: make([]float64, n*d.inputs), labels: make([]int, n)}
}

func (d *dataset) fill(b *batch, first int64) {
	rng := rand.New(&d.src)
	for i := range b.n {
		// The words of a PCG state are mixed only by its output: draw once.
		d.src.Seed(d.seed^streamSamples, uint64(first)+uint64(i))
		rng.Uint64()
		cluster := rng.IntN(classes * clustersPerClass)
		label := cluster % classes
		centre := d.centres[cluster*d.inputs : (cluster+1)*d.inputs]
		row := b.x[i*d.inputs : (i+1)*d.inputs]
		for j := range row {
			row[j] = centre[j] + rng.NormFloat64()
		}
		if rng.Float64() < labelNoise {
			label = rng.IntN(classes)
		}
		b.labels[i] = label
	}
}
