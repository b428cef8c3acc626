package trainer

import (
	"bytes"
	"errors"
	"io"
	"math"
	"math/rand/v2"
	"net"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"gonum.org/v1/gonum/floats"
	"pgregory.net/rapid"
)

// tiny returns a model small enough for finite differences, in a longer vector.
func tiny() *model {
	m := &model{}
	for _, l := range []layer{{in: 3, out: 4}, {in: 4, out: 3}, {in: 3, out: classes}} {
		l.w, l.b = m.size, m.size+l.in*l.out
		m.size = l.b + l.out
		m.layers = append(m.layers, l)
	}
	m.used = m.size
	m.size += 2
	return m
}

// tinyBatch returns a model, parameters with no zeros and a batch.
func tinyBatch(n int) (*model, []float64, *batch) {
	m := tiny()
	rng := rand.New(rand.NewPCG(1, 2))
	params := make([]float64, m.size)
	for i := range params {
		params[i] = rng.NormFloat64()
	}
	d := newDataset(3, 5)
	b := d.newBatch(n)
	d.fill(b, 0)
	return m, params, b
}

func TestGradientMatchesFiniteDifferences(t *testing.T) {
	m, params, b := tinyBatch(6)
	grad, scratch := make([]float64, m.size), make([]float64, m.size)
	const scale, h = 0.7, 1e-6
	m.gradient(grad, params, b, scale)
	for i := range params {
		p := slices.Clone(params)
		p[i] += h
		up, _ := m.gradient(scratch, p, b, 1)
		p[i] -= 2 * h
		down, _ := m.gradient(scratch, p, b, 1)
		// Central differences of a smooth loss err by h²; a kink of a
		// rectifier within h would show, and this seed has none.
		if want := scale * (up - down) / (2 * h); math.Abs(grad[i]-want) > 1e-7 {
			t.Errorf("parameter %d: gradient %g, differences say %g", i, grad[i], want)
		}
	}
}

func TestSampleNormsMatchSingleGradients(t *testing.T) {
	m, params, b := tinyBatch(6)
	grad := make([]float64, m.size)
	_, got := m.gradient(grad, params, b, 0.3)
	var want float64
	for i := range b.n {
		one := &batch{n: 1, x: b.x[i*3 : i*3+3], labels: b.labels[i : i+1]}
		m.gradient(grad, params, one, 1)
		want += squaredNorm(grad)
	}
	if math.Abs(got-want) > 1e-12*want {
		t.Errorf("sum of squared norms %g, want %g", got, want)
	}
}

func TestMessageBytes(t *testing.T) {
	for _, name := range []string{"small", "large"} {
		plain, err := newModel(name, 0)
		if err != nil {
			t.Fatal(err)
		}
		// Documented sizes: 0.1 to 2 MB.
		if b := plain.bytes(); b < 100_000 || b > 2_000_000 {
			t.Errorf("%s: message of %d bytes", name, b)
		}
		if m, _ := newModel(name, 1); m.size != plain.size {
			t.Errorf("%s: a message smaller than the model changed its size", name)
		}
		for _, want := range []int64{plain.bytes() + 1, 5 << 20} {
			m, _ := newModel(name, want)
			if b := m.bytes(); b < want || b >= want+8 {
				t.Errorf("%s: message of %d bytes, want %d and less than one number more", name, b, want)
			}
		}
	}
}

func TestSamplesAreReproducible(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		seed, first := rapid.Int64().Draw(t, "seed"), rapid.Int64Range(0, 1<<40).Draw(t, "first")
		n := rapid.IntRange(2, 9).Draw(t, "n")
		cut := rapid.IntRange(1, n-1).Draw(t, "cut")
		d := newDataset(4, seed)
		whole, left, right := d.newBatch(n), d.newBatch(cut), d.newBatch(n-cut)
		d.fill(whole, first)
		d.fill(right, first+int64(cut)) // in another order
		d.fill(left, first)
		if !slices.Equal(whole.x, slices.Concat(left.x, right.x)) || !slices.Equal(whole.labels, slices.Concat(left.labels, right.labels)) {
			t.Fatal("shards do not make up the batch")
		}
		if slices.Equal(whole.x[:4], whole.x[4:8]) {
			t.Fatal("two samples are equal")
		}
	})
}

// TestSamplesHaveTheirMoments checks the generator against its documented
// mixture: inputs of mean near zero and variance 1 + centreSpread².
func TestSamplesHaveTheirMoments(t *testing.T) {
	d := newDataset(64, 1)
	b := d.newBatch(4000)
	d.fill(b, 0)
	mean := floats.Sum(b.x) / float64(len(b.x))
	variance := squaredNorm(b.x)/float64(len(b.x)) - mean*mean
	if math.Abs(mean) > 0.03 || math.Abs(variance-(1+centreSpread*centreSpread)) > 0.03 {
		t.Errorf("mean %.4f, variance %.4f", mean, variance)
	}
	counts := make([]int, classes)
	for _, l := range b.labels {
		counts[l]++
	}
	for l, c := range counts { // 400 ± 5 standard deviations
		if c < 300 || c > 500 {
			t.Errorf("class %d has %d of 4000 samples", l, c)
		}
	}
}

// TestEstimateGolden follows the formulas by hand for g = (3,0), (1,2), both
// of 8 samples: ḡ = (2,1), mean|g|² = 7, |ḡ|² = 5; sqr = 2·5−7 = 3, var at
// batch 4 = (7−5)·16/4 = 8.
func TestEstimateGolden(t *testing.T) {
	if sqr, v := estimate(2, 7, 5, 16, 4); sqr != 3 || v != 8 {
		t.Errorf("sqr %g, var %g, want 3, 8", sqr, v)
	}
}

// TestEstimatesAreUnbiased draws gradients of known mean and covariance.
func TestEstimatesAreUnbiased(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 4))
	const dim, draws, initial = 10, 4000, 32.0
	truth := make([]float64, dim) // |G|² = 10·0.09 = 0.9, per-sample covariance trace 10
	for i := range truth {
		truth[i] = 0.3
	}
	for _, n := range []int{2, 16} {
		var sqr, v float64
		for range draws {
			sum, mean := 0.0, make([]float64, dim)
			for range n {
				g := make([]float64, dim)
				for i := range g {
					g[i] = truth[i] + rng.NormFloat64()
				}
				sum += squaredNorm(g)
				floats.AddScaled(mean, 1/float64(n), g)
			}
			s, w := estimate(n, sum/float64(n), squaredNorm(mean), float64(n), initial)
			sqr += s / draws
			v += w / draws
		}
		// Standard errors at n = 2: 0.04 and 0.002.
		if math.Abs(sqr-0.9) > 0.16 || math.Abs(v-10/initial) > 0.008 {
			t.Errorf("n = %d: sqr %.3f, var %.4f, want 0.9, %.4f", n, sqr, v, 10/initial)
		}
	}
}

func TestGradStatsNeedPositiveEstimates(t *testing.T) {
	s := &gradStats{count: 4, initial: 4}
	if sqr, v := s.values(); !math.IsNaN(sqr) || !math.IsNaN(v) {
		t.Error("values before the first update")
	}
	s.observe(40, 1) // mean|g|² = 10 against |ḡ|² = 1: sqr = (4−10)/3 < 0
	if sqr, _ := s.values(); !math.IsNaN(sqr) {
		t.Errorf("sqr = %g from a negative estimate", sqr)
	}
	one := &gradStats{count: 1, initial: 1}
	one.observe(1, 1)
	if sqr, v := one.values(); !math.IsNaN(sqr) || !math.IsNaN(v) {
		t.Errorf("sqr %g, var %g of single samples", sqr, v)
	}
}

func TestGradStatsAreUnbiasedFromTheStart(t *testing.T) {
	s := &gradStats{count: 4, initial: 4}
	for range 5 {
		s.observe(8, 1) // mean|g|² = 2 against |ḡ|² = 1
		if sqr, v := s.values(); math.Abs(sqr-2./3) > 1e-12 || math.Abs(v-1./3) > 1e-12 {
			t.Fatalf("averages %g and %g, want 2/3 and 1/3", sqr, v)
		}
	}
}

func TestRecordLeavesOutUnknown(t *testing.T) {
	var b bytes.Buffer
	r := record{Step: 3, StepTime: 0.5, SyncTime: known(math.NaN()), Loss: known(math.Inf(1)), GradSqr: known(math.NaN()), GradVar: 2}
	if err := r.print(&b); err != nil || b.String() != "knee: {\"step\":3,\"step_time_s\":0.5,\"grad_var\":2}\n" {
		t.Errorf("printed %q, %v", b.String(), err)
	}
	if err := r.print(brokenWriter{}); !errors.Is(err, io.ErrClosedPipe) || !strings.Contains(err.Error(), "step 3") {
		t.Errorf("error %v, want that of the writer and the step", err)
	}
}

type brokenWriter struct{}

func (brokenWriter) Write([]byte) (int, error) { return 0, io.ErrClosedPipe }

// pipeRing returns k ranks connected in a ring in memory.
func pipeRing(k int) []*ring {
	rs := make([]*ring, k)
	for i := range rs {
		rs[i] = &ring{o: &Options{Rank: i, Workers: k}}
	}
	var step atomic.Int64
	for i := range rs {
		a, b := net.Pipe()
		rs[i].next = newLink(a, "next", &step)
		rs[(i+1)%k].prev = newLink(b, "prev", &step)
	}
	return rs
}

func TestAllReduceSums(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		k := rapid.IntRange(2, 6).Draw(t, "k")
		n := rapid.OneOf(rapid.IntRange(0, 13), rapid.IntRange(16_382, 16_386)).Draw(t, "n")
		seed := rapid.Uint64().Draw(t, "seed")
		rs, want := pipeRing(k), make([]float64, n)
		vs := make([][]float64, k)
		for r := range vs {
			rng := rand.New(rand.NewPCG(seed, uint64(r)))
			vs[r] = make([]float64, n)
			for i := range vs[r] {
				vs[r][i] = math.Round(1e6 * rng.NormFloat64()) // whole numbers add without rounding
			}
			floats.Add(want, vs[r])
		}
		if err := concurrently(k, func(r int) error { return rs[r].allReduce(vs[r]) }); err != nil {
			t.Fatal(err)
		}
		for r, v := range vs {
			if !slices.Equal(v, want) {
				t.Fatalf("rank %d does not hold the sum", r)
			}
		}
	})
}

func TestSliceCoversAll(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n, parts := rapid.IntRange(0, 1<<40).Draw(t, "n"), rapid.IntRange(1, 1000).Draw(t, "parts")
		end := 0
		for i := range parts {
			lo, hi := slice(n, parts, i)
			if lo != end || hi-lo < n/parts || hi-lo > n/parts+1 {
				t.Fatalf("part %d is [%d,%d), the one before ended at %d", i, lo, hi, end)
			}
			end = hi
		}
		if end != n {
			t.Fatalf("parts end at %d", end)
		}
	})
}
