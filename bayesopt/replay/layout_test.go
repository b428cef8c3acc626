package replay

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"gonum.org/v1/gonum/mat"
	"gonum.org/v1/gonum/stat"

	"knee/bayesopt"
	"knee/data"
)

// MemorySlopes agree with the published memory formula: doublings of memory per
// doubling of a knob, by least squares over 200 models. -v prints them.
func TestMemorySlopes(t *testing.T) {
	names := []string{"tp", "pp", "local_batch", "recompute", "sharding"}
	slopes := make([][]float64, len(names)+1)
	for seed := range uint64(200) {
		m := newTransformer(rand.New(rand.NewPCG(seed, 1)))
		var rows, y []float64
		for _, l := range m.layouts(64) {
			sharded := 0.0
			if l.Sharding != "" {
				sharded = 1
			}
			rows = append(rows, 1, math.Log2(float64(l.TP)), math.Log2(float64(l.PP)), math.Log2(l.LocalBatch),
				float64(slices.Index([]string{"", "selective", "full"}, l.Recompute)), sharded)
			y = append(y, -math.Log2(m.memory(l)))
		}
		var w, fitted mat.VecDense
		x := mat.NewDense(len(y), len(names)+1, rows)
		if err := w.SolveVec(x, mat.NewVecDense(len(y), y)); err != nil {
			t.Fatal(err)
		}
		fitted.MulVec(x, &w)
		for k := range names {
			slopes[k] = append(slopes[k], w.AtVec(k+1))
		}
		var left float64
		for i, v := range y {
			left += (v - fitted.AtVec(i)) * (v - fitted.AtVec(i)) / float64(len(y))
		}
		slopes[len(names)] = append(slopes[len(names)], math.Sqrt(left))
	}
	for k, name := range append(names, "(left over)") {
		mean, sd := stat.MeanStdDev(slopes[k], nil)
		t.Logf("%-12s %.2f ± %.2f", name, mean, sd)
		if prior, ok := bayesopt.MemorySlopes()[name]; ok && (math.Abs(prior.Mean-mean) > sd || prior.SD < sd) {
			t.Errorf("the prior of %s is %+v, the formula says %.2f ± %.2f", name, prior, mean, sd)
		}
	}
}

// A quarter of a layout space runs out of memory, and is charged.
func TestNewLayout(t *testing.T) {
	for seed := range int64(3) {
		table := NewLayout(seed)
		out := 0
		for _, o := range table.Outcomes {
			if o.Status == data.OOM {
				out++
			}
			if !(o.Time > 0) || !(o.Cost > 0) {
				t.Fatalf("layout space %d: outcome %+v, want a time and a charge", seed, o)
			}
		}
		if got := float64(out) / float64(len(table.Outcomes)); math.Abs(got-oomShare) > 0.01 {
			t.Errorf("layout space %d: a share of %.3f runs out of memory, want %g", seed, got, oomShare)
		}
	}
}
