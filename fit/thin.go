package fit

import (
	"container/heap"
	"math"
	"slices"

	"gonum.org/v1/gonum/blas/blas64"

	"knee/data"
)

// maxRows bounds the measurements one fit keeps. Beyond it the ones that add
// least to the others are left out: the error hardly falls any more, while
// the time of a prediction grows with the square.
const maxRows = 224

// thin keeps the maxRows rows that say most about the others: the pivots of
// a partial Cholesky factorization of their covariance (the row with the
// largest remaining variance comes next). Forms without a process use the
// kernel of this project's forms for the choice.
func thin(rows []data.Measurement, runs []float64, pts []point, k kernel) ([]data.Measurement, []float64) {
	if len(rows) <= maxRows {
		return rows, runs
	}
	if _, plain := k.(plainKernel); plain {
		k = collectiveKernel{}
	}
	pool, among := pts, poolOf(pts)
	if among != nil {
		pool = make([]point, len(among))
		for i, at := range among {
			pool[i] = pts[at]
		}
	}
	t := newThinning(pool, k)
	keep := make([]bool, len(rows))
	for range maxRows {
		i := t.next()
		if among != nil {
			i = among[i]
		}
		keep[i] = true
	}
	var out []data.Measurement
	var kept []float64
	for i, r := range rows {
		if keep[i] {
			out, kept = append(out, r), append(kept, runs[i])
		}
	}
	return out, kept
}

// maxPool is about the most rows that pivots are sought among: so many lie so
// densely that the others add nothing that is not among them.
const maxPool = 8192

// poolOf returns, in order, the indices of the rows to seek pivots among: the
// first with each number of workers, nodes, workers on the widest node and
// servers, those with the smallest and largest batches, and of the others as
// many as maxPool, evenly. It returns nil for all.
func poolOf(pts []point) []int {
	if len(pts) <= maxPool {
		return nil
	}
	type level struct {
		dimension int
		value     float64
	}
	seen := map[level]bool{}
	in := make([]bool, len(pts))
	var ends [4]int // smallest and largest local, then global batch
	for i := range pts {
		p := &pts[i]
		in[i] = i*maxPool/len(pts) != (i-1)*maxPool/len(pts)
		for d, v := range []float64{p.workers, p.nodes, p.widest, p.servers} {
			if l := (level{d, v}); !seen[l] {
				seen[l], in[i] = true, true
			}
		}
		for d, less := range []bool{p.batch < pts[ends[0]].batch, p.batch > pts[ends[1]].batch, p.global < pts[ends[2]].global, p.global > pts[ends[3]].global} {
			if less {
				ends[d] = i
			}
		}
	}
	for _, i := range ends {
		in[i] = true
	}
	var pool []int
	for i, yes := range in {
		if yes {
			pool = append(pool, i)
		}
	}
	return pool
}

// thinning is a partial Cholesky factorization with pivoting that works out
// only what it needs. The variance a row has left only falls as pivots are
// taken, so one that is not up to date is an upper bound: a row is brought up
// to date when it comes to the top, and is the next pivot if it stays there.
// The pivots are those of the full factorization, ties included, for a small
// part of the work and memory.
type thinning struct {
	pts    []point
	kernel kernel
	left   []float64   // variance left, as of the columns of factor
	factor [][]float64 // rows of the factor, as far as worked out
	pivots []int
	order  []int // heap of the rows that are no pivots, the largest left first
}

func newThinning(pts []point, k kernel) *thinning {
	t := &thinning{pts: pts, kernel: k, left: make([]float64, len(pts)), factor: make([][]float64, len(pts)), order: make([]int, len(pts))}
	for i := range pts {
		t.left[i] = k.cov(&pts[i], &pts[i])
		t.order[i] = i
	}
	heap.Init(t)
	return t
}

// next returns the next pivot.
func (t *thinning) next() int {
	for {
		i := t.order[0]
		if len(t.factor[i]) == len(t.pivots) {
			heap.Pop(t)
			t.pivots = append(t.pivots, i)
			t.factor[i] = append(t.factor[i], math.Sqrt(math.Max(t.left[i], leastVariance)))
			return i
		}
		t.update(i)
		heap.Fix(t, 0)
	}
}

// leastVariance keeps the division by a pivot finite where rows repeat each
// other.
const leastVariance = 1e-12

// update extends row i of the factor to all columns.
func (t *thinning) update(i int) {
	row := slices.Grow(t.factor[i], len(t.pivots)-len(t.factor[i]))
	for col := len(row); col < len(t.pivots); col++ {
		at := t.factor[t.pivots[col]]
		v := (t.kernel.cov(&t.pts[i], &t.pts[t.pivots[col]]) - blas64.Dot(vector(row), vector(at[:col]))) / at[col]
		row = append(row, v)
		t.left[i] = math.Max(t.left[i]-v*v, 0)
	}
	t.factor[i] = row
}

// Len, Less, Swap, Push and Pop implement [heap.Interface].
func (t *thinning) Len() int { return len(t.order) }

func (t *thinning) Less(a, b int) bool {
	i, j := t.order[a], t.order[b]
	if t.left[i] != t.left[j] {
		return t.left[i] > t.left[j]
	}
	return i < j
}

func (t *thinning) Swap(a, b int) { t.order[a], t.order[b] = t.order[b], t.order[a] }

func (t *thinning) Push(x any) { t.order = append(t.order, x.(int)) }

func (t *thinning) Pop() any {
	last := len(t.order) - 1
	i := t.order[last]
	t.order = t.order[:last]
	return i
}
