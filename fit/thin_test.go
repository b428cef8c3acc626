package fit

import (
	"math"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"knee/data"
)

// Every pivot of the lazy factorization has the largest variance left of all
// rows, as the full factorization has it, repeated rows included.
func TestThinningTakesTheLargestVarianceLeft(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(2, 120).Draw(t, "rows")
		ms := make([]data.Measurement, n)
		for i := range ms {
			nodes := rapid.IntRange(1, 4).Draw(t, "nodes")
			width := rapid.IntRange(1, 4).Draw(t, "width")
			ms[i] = data.Measurement{StepTime: 1, Status: data.OK, Config: data.Config{Workers: nodes * width, Nodes: nodes,
				LocalBatch: float64(rapid.IntRange(1, 64).Draw(t, "batch"))}}
		}
		pts := pointsOf(ms, scaleOf(ms))
		k := collectiveKernel{}
		lazy := newThinning(pts, k)
		full := newFullFactorization(pts, k)
		for range min(n, 40) {
			i := lazy.next()
			if most := full.most(); full.taken[i] || full.left[i] < most-1e-9 {
				t.Fatalf("row %d has %g left, another %g; taken before: %v", i, full.left[i], most, full.taken[i])
			}
			full.take(i)
		}
	})
}

// fullFactorization brings every row up to date after every pivot, as
// textbooks have it.
type fullFactorization struct {
	pts    []point
	kernel kernel
	left   []float64
	factor [][]float64
	taken  []bool
}

func newFullFactorization(pts []point, k kernel) *fullFactorization {
	f := &fullFactorization{pts: pts, kernel: k, left: make([]float64, len(pts)), factor: make([][]float64, len(pts)), taken: make([]bool, len(pts))}
	for i := range pts {
		f.left[i] = k.cov(&pts[i], &pts[i])
	}
	return f
}

// most returns the largest variance that a row not taken yet has left.
func (f *fullFactorization) most() float64 {
	most := 0.
	for i, v := range f.left {
		if !f.taken[i] {
			most = math.Max(most, v)
		}
	}
	return most
}

func (f *fullFactorization) take(pivot int) {
	f.taken[pivot] = true
	root := math.Sqrt(math.Max(f.left[pivot], leastVariance))
	at := slices.Clone(f.factor[pivot])
	for i := range f.pts {
		v := f.kernel.cov(&f.pts[i], &f.pts[pivot])
		for c := range at {
			v -= f.factor[i][c] * at[c]
		}
		v /= root
		f.factor[i] = append(f.factor[i], v)
		f.left[i] = math.Max(f.left[i]-v*v, 0)
	}
}
