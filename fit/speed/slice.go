package speed

import (
	"slices"

	"gonum.org/v1/gonum/blas"
	"gonum.org/v1/gonum/blas/blas64"

	"knee/fit/speed/form"
)

// batchSlice is the process of a posterior at one batch and GPU type. There the
// covariances with the n measurements are linear in a short vector,
//
//	k = G·v,  v = (1, slope of workers, placeCov with each distinct placement),
//
// so that Wᵀk of the weights W and kᵀK⁻¹k are precomputed up to products with
// v.
type batchSlice struct {
	q        *posterior
	places   []*form.Point  // one measurement of each distinct placement
	drawn    blas64.General // weightsᵀ·G, one row per curve
	explain  blas64.General // GᵀK⁻¹G of every node, one below the other
	v, spare []float64
}

// placeSlopes is the number of slopes that do not belong to the batch.
const placeSlopes = 1

// worthSlicing reports whether n predictions at one batch repay a slice. With
// knobs or shapes the covariances do not factor like this.
func (q *posterior) worthSlicing(n int) bool {
	k := q.task.kernel
	return k.smooth && k.weights == nil && !k.shapes && n >= 32 && n >= 2*len(q.distinctPlaces())
}

// distinctPlaces returns one measured point of every placement.
func (q *posterior) distinctPlaces() []*form.Point {
	var places []*form.Point
	for i := range q.task.pts {
		if p := &q.task.pts[i]; !slices.ContainsFunc(places, func(o *form.Point) bool { return samePlace(p, o) }) {
			places = append(places, p)
		}
	}
	return places
}

func samePlace(a, b *form.Point) bool {
	return a.Workers == b.Workers && a.Nodes == b.Nodes && a.Widest == b.Widest && a.Servers == b.Servers && a.Placed == b.Placed
}

// sliceAt returns the slice at the batch and GPU type of p.
func (q *posterior) sliceAt(p *form.Point) *batchSlice {
	k := q.task.kernel
	s := &batchSlice{q: q, places: q.distinctPlaces()}
	n, c := len(q.task.pts), 1+placeSlopes+len(s.places)
	g := general(n, c)
	for i := range q.task.pts {
		at := &q.task.pts[i]
		place := slices.IndexFunc(s.places, func(o *form.Point) bool { return samePlace(at, o) })
		row := g.Data[i*c : (i+1)*c]
		row[0] = k.batchCov(p, at)
		row[1+placeSlopes+place] = row[0]
		u, v := k.slopes(at), k.slopes(p)
		copy(row[1:], u[:placeSlopes])
		for j := placeSlopes; j < len(u); j++ {
			row[0] += u[j] * v[j]
		}
		if at.Type != p.Type {
			blas64.Scal(k.shared, vec(row))
		}
	}
	s.v, s.spare = make([]float64, c), make([]float64, c*len(q.nodes))
	s.drawn = general(len(q.curves), c)
	blas64.Gemm(blas.Trans, blas.NoTrans, 1, q.weight, g, 0, s.drawn)
	s.explain = general(c*len(q.nodes), c)
	q.eachNode(func(j, _, _ int) {
		white := general(n, c)
		copy(white.Data, g.Data)
		q.nodes[j].lower.WhitenRows(white)
		of := blas64.General{Rows: c, Cols: c, Stride: c, Data: s.explain.Data[j*c*c:]}
		blas64.Gemm(blas.Trans, blas.NoTrans, 1, white, white, 0, of)
	})
	return s
}

func general(rows, cols int) blas64.General {
	return blas64.General{Rows: rows, Cols: cols, Stride: cols, Data: make([]float64, rows*cols)}
}

// spread is [posterior.spread] for a point with the batch of the slice.
func (s *batchSlice) spread(p *form.Point, shared *memo, of, process []float64) {
	k := s.q.task.kernel
	u := k.slopes(p)
	s.v[0] = 1
	copy(s.v[1:], u[:placeSlopes])
	for i, o := range s.places {
		s.v[1+placeSlopes+i] = k.placeCov(p, o)
	}
	blas64.Gemv(blas.NoTrans, 1, s.drawn, vec(s.v), 0, vec(of))
	blas64.Gemv(blas.NoTrans, 1, s.explain, vec(s.v), 0, vec(s.spare))
	at := k.cov(p, p)
	for j := range s.q.nodes {
		process[j] = s.q.nodes[j].process(at, blas64.Dot(vec(s.v), vec(s.spare[j*len(s.v):(j+1)*len(s.v)])))
	}
	shared.addSteps(s.q.curves, p, of)
}
