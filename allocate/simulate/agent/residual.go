package agent

import (
	"math"

	"gonum.org/v1/gonum/blas/blas64"
	"gonum.org/v1/gonum/mat"

	"knee/internal/gp"
)

// size is the part of a configuration that the synchronisation of [Speed] depends on.
type size struct {
	several bool // nodes
	workers int
}

func (k Key) size() size { return size{k.Nodes > 1, k.Workers} }

// residual is what the form of [Speed] leaves of the logarithms of step times,
// as a Gaussian process over the logarithm of the workers, one for a single
// node and one for several. What was observed of a size counts as its mean,
// with the variance within sizes over the batches observed; the variance of
// the process is the mean square of what the form leaves. Predictions use its mean.
type residual struct {
	sizes    []size
	weights  []float64 // (K + noise)⁻¹ means
	variance float64
}

// newResidual returns nil if the residuals have no spread.
func newResidual(s *Speed, obs []Observation) *residual {
	type moments struct{ n, sum, square float64 }
	by := map[size]*moments{}
	r := &residual{}
	for _, o := range obs {
		step, _ := s.Times(o.Key)
		m := by[o.size()]
		if m == nil {
			m = &moments{}
			by[o.size()] = m
			r.sizes = append(r.sizes, o.size())
		}
		x := math.Log(o.Step / step)
		m.n, m.sum, m.square = m.n+1, m.sum+x, m.square+x*x
		r.variance += x * x / float64(len(obs))
	}
	var within float64 // a size
	for _, a := range r.sizes {
		m := by[a]
		within += (m.square - m.sum*m.sum/m.n) / float64(len(obs))
	}
	k := mat.NewSymDense(len(r.sizes), nil)
	for i, a := range r.sizes {
		for j, b := range r.sizes[:i+1] {
			k.SetSym(i, j, r.kernel(a, b))
		}
		m := by[a]
		r.weights = append(r.weights, m.sum/m.n)
		k.SetSym(i, i, k.At(i, i)+math.Max(within, 0)/m.n)
	}
	factor, err := gp.Factorize(k)
	if err != nil {
		return nil
	}
	factor.Solve(blas64.General{Rows: len(r.sizes), Cols: 1, Stride: 1, Data: r.weights})
	return r
}

// kernel falls with the ratio of workers, by e^-½ where one has twice as many.
func (r *residual) kernel(a, b size) float64 {
	if a.several != b.several {
		return 0
	}
	octaves := math.Log2(float64(a.workers) / float64(b.workers))
	return r.variance * math.Exp(-octaves*octaves/2)
}

// at is the mean of the residual of a size.
func (r *residual) at(s size) (mean float64) {
	if r != nil {
		for i, o := range r.sizes {
			mean += r.kernel(s, o) * r.weights[i]
		}
	}
	return mean
}
