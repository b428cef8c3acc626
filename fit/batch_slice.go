package fit

import (
	"math"
	"slices"

	"gonum.org/v1/gonum/blas"
	"gonum.org/v1/gonum/blas/blas64"

	"knee/data"
)

// batchSlice is the Gaussian process of a stack at one batch. There the
// covariances with the n measurements are linear in those of the placement
// with the far fewer distinct placements among them,
//
//	k = G·v,  v = (1, placeCov with each distinct placement),
//
// so that all a prediction needs, Wᵀk of the weights W and kᵀK⁻¹k, is there
// up to a product with v.
type batchSlice struct {
	st       *stack
	product  productKernel
	places   []*point       // one measurement of each distinct placement
	mean     []float64      // Gᵀ·weight
	drawn    blas64.General // weightsᵀ·G, one row per draw
	explain  blas64.General // GᵀK⁻¹G
	v, spare []float64
	sum      []float64
}

// worthSlicing says whether n predictions at one batch repay a slice.
func (st *stack) worthSlicing(n int) bool {
	if _, ok := st.kernel.(productKernel); !ok || !st.smooth {
		return false
	}
	return n >= 32 && n >= 2*len(st.distinctPlaces())
}

// distinctPlaces returns one measured point of every placement.
func (st *stack) distinctPlaces() []*point {
	var places []*point
	for i := range st.pts {
		if p := &st.pts[i]; !slices.ContainsFunc(places, func(q *point) bool { return samePlace(p, q) }) {
			places = append(places, p)
		}
	}
	return places
}

func samePlace(a, b *point) bool {
	return a.workers == b.workers && a.nodes == b.nodes && a.widest == b.widest && a.servers == b.servers
}

// sliceAt makes the slice at the batch of p.
func (st *stack) sliceAt(p *point) *batchSlice {
	k := st.kernel.(productKernel)
	s := &batchSlice{st: st, product: k, places: st.distinctPlaces(), sum: make([]float64, draws)}
	n, c := len(st.pts), len(s.places)+1
	g := general(n, c)
	for i := range st.pts {
		place := slices.IndexFunc(s.places, func(q *point) bool { return samePlace(&st.pts[i], q) })
		g.Data[i*c], g.Data[i*c+1+place] = k.batchCov(p, &st.pts[i])
	}
	s.mean, s.v, s.spare = make([]float64, c), make([]float64, c), make([]float64, c)
	blas64.Gemv(blas.Trans, 1, g, vector(st.weight), 0, vector(s.mean))
	s.drawn = general(draws, c)
	blas64.Gemm(blas.Trans, blas.NoTrans, 1, st.weights, g, 0, s.drawn)
	blas64.Trsm(blas.Left, blas.NoTrans, 1, st.lower.RawTriangular(), g) // G becomes L⁻¹G
	s.explain = general(c, c)
	blas64.Gemm(blas.Trans, blas.NoTrans, 1, g, g, 0, s.explain)
	return s
}

func general(rows, cols int) blas64.General {
	return blas64.General{Rows: rows, Cols: cols, Stride: cols, Data: make([]float64, rows*cols)}
}

// predict is [stack.predict] for a point with the batch of the slice.
func (s *batchSlice) predict(p *point, beyond float64, shared *memo) data.Estimate {
	s.v[0] = 1
	for i, q := range s.places {
		s.v[i+1] = s.product.placeCov(p, q)
	}
	v := vector(s.v)
	mean, _ := s.st.best.logTimes(p)
	mean += blas64.Dot(v, vector(s.mean))
	blas64.Gemv(blas.NoTrans, 1, s.drawn, v, 0, vector(s.sum))
	blas64.Gemv(blas.NoTrans, 1, s.explain, v, 0, vector(s.spare))
	variance := math.Max(s.st.kernel.cov(p, p)-blas64.Dot(v, vector(s.spare)), 0) + beyond*beyond
	shared.addSteps(s.st.drawn, p, s.sum)
	return s.st.interval(mean, variance, s.sum)
}
