package trainer

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"

	"gonum.org/v1/gonum/blas"
	"gonum.org/v1/gonum/blas/blas64"
)

// modelShape returns the layer widths of a named model, input first. The two
// were chosen so that on one core and a batch of 32 a step computes for about
// 1 ms (small) and 5 ms (large), with gradients of 0.4 MB and 1.6 MB: on a
// loopback or Ethernet network neither computing nor communicating is free.
func modelShape(name string) ([]int, error) {
	switch name {
	case "small":
		return []int{64, 256, 128, classes}, nil
	case "large":
		return []int{128, 512, 256, classes}, nil
	}
	return nil, fmt.Errorf("model %q is unknown; want small or large", name)
}

// layer is a fully connected layer: where its parameters lie in the flat
// parameter vector, and its activations for the present batch.
type layer struct {
	in, out   int
	w, b      int       // offsets of the in × out weights and the out biases
	act, diff []float64 // batch × out: outputs, and the loss's gradient by them
}

// model is a multilayer perceptron with rectified linear units and a softmax
// cross-entropy loss. Optionally an embedding table adds the sum of a few
// rows to the first hidden layer: many parameters, hardly any arithmetic.
// Parameters and gradients are flat vectors, the unit that is communicated.
type model struct {
	layers []layer
	rows   int // of the embedding table
	table  int // its offset
	size   int // parameters
}

// newModel lays out the named model. If messageBytes exceeds the size of its
// gradient, an embedding table of whole rows makes up the difference.
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
	m.table = m.size
	if extra := messageBytes - m.bytes(); extra > 0 {
		row := int64(m.layers[0].out) * 8
		m.rows = int((extra + row - 1) / row)
		m.size += m.rows * m.layers[0].out
	}
	return m, nil
}

// bytes returns the size of a gradient on the wire.
func (m *model) bytes() int64 { return int64(m.size) * 8 }

// inputs returns the number of inputs.
func (m *model) inputs() int { return m.layers[0].in }

// initial returns the parameters training starts from: weights by He et al.
// (2015), those of the output layer, biases and embeddings zero, so that every
// class starts as likely as any other. Equal seeds give equal parameters.
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

// reserve makes room for the activations of n samples.
func (m *model) reserve(n int) {
	for i := range m.layers {
		l := &m.layers[i]
		l.act = slices.Grow(l.act[:0], n*l.out)[:n*l.out]
		l.diff = slices.Grow(l.diff[:0], n*l.out)[:n*l.out]
	}
}

// gradient overwrites grad with scale > 0 times the gradient of the batch's
// mean loss at params. Both vectors have m.size elements. It returns the
// mean loss and the sum of the squared norms of the samples' own gradients,
// unscaled.
func (m *model) gradient(grad, params []float64, b *batch, scale float64) (loss, sumSqr float64) {
	m.reserve(b.n)
	m.forward(params, b)
	loss = m.softmax(b, scale)
	m.backward(grad, params, b)
	unscale := float64(b.n) / scale
	return loss, m.sampleNorms(b) * unscale * unscale
}

// sampleNorms returns the sum over the samples of the squared norm of each
// sample's part of the gradient. For a fully connected layer that part is an
// outer product, so its norm is that of the inputs times that of the diffs
// and costs next to nothing: Goodfellow, "Efficient Per-Example Gradient
// Computations" (2015).
func (m *model) sampleNorms(b *batch) (sum float64) {
	for i := range m.layers {
		l := &m.layers[i]
		x := b.x
		if i > 0 {
			x = m.layers[i-1].act
		}
		for s := range b.n {
			inputs := 1 + squaredNorm(x[s*l.in:(s+1)*l.in]) // 1 for the bias
			if i == 0 {
				inputs += squaredCounts(b.tokensOf(s))
			}
			sum += inputs * squaredNorm(l.diff[s*l.out:(s+1)*l.out])
		}
	}
	return sum
}

// squaredCounts returns the sum of the squared multiplicities of the tokens:
// a token that occurs twice gets twice the gradient.
func squaredCounts(tokens []int) (sum float64) {
	for _, a := range tokens {
		for _, b := range tokens {
			if a == b {
				sum++
			}
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
			if i == 0 {
				m.lookUp(l.act[s*l.out:(s+1)*l.out], params, b.tokensOf(s))
			}
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

// lookUp adds the rows of the embedding table named by tokens to dst.
func (m *model) lookUp(dst, params []float64, tokens []int) {
	for _, t := range tokens {
		for j, v := range m.row(params, t) {
			dst[j] += v
		}
	}
}

// row returns row t of the embedding table within a flat vector.
func (m *model) row(v []float64, t int) []float64 {
	w := m.layers[0].out
	return v[m.table+t*w : m.table+(t+1)*w]
}

// softmax returns the mean cross-entropy of the logits and leaves scale
// times its gradient by them in the last layer's diff.
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
	m.scatter(grad, b)
}

// scatter writes the table's gradient, dense as frameworks send it by
// default: zero but for the rows the batch looked up.
func (m *model) scatter(grad []float64, b *batch) {
	clear(grad[m.table:])
	w := m.layers[0].out
	for s := range b.n {
		for _, t := range b.tokensOf(s) {
			row := m.row(grad, t)
			for j, v := range m.layers[0].diff[s*w : (s+1)*w] {
				row[j] += v
			}
		}
	}
}

// general wraps a row-major matrix for BLAS.
func general(rows, cols int, v []float64) blas64.General {
	return blas64.General{Rows: rows, Cols: cols, Stride: cols, Data: v}
}
