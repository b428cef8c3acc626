package memory

import (
	"cmp"
	"math"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"testing"

	"gonum.org/v1/gonum/stat"
	"gonum.org/v1/gonum/stat/distuv"

	"knee/data"
	"knee/internal/bench"
)

// source is a file of measured peaks, with the prior learned from the others.
type source struct {
	file  string
	ms    []data.Measurement
	prior Prior
}

func sources(tb testing.TB) (all []source) {
	for _, file := range []string{"sailor.csv", "bigscience.csv"} {
		ms, _, err := data.LoadMeasurements(filepath.Join(bench.Dir(tb), "scaling", file))
		if err != nil {
			tb.Fatal(err)
		}
		all = append(all, source{file: file, ms: ms})
	}
	all[0].prior, all[1].prior = Learn([][]data.Measurement{all[1].ms}), Learn([][]data.Measurement{all[0].ms})
	return all
}

// score of predictions of held-out measurements of a source.
type score struct {
	errors  []float64 // |predicted/recorded − 1| of peaks
	inside  int       // of their 90 % intervals
	ran     [4]int    // by P(fits): at most .1, .5, .9, 1
	oom     [4]int
	density []float64 // ln of the predicted density of ln of recorded peaks
}

// scoreOf fits random rows of each job of a source and predicts the others; with
// larger, rows of the half with smaller peaks, and predicts the half with larger ones.
func (s source) scoreOf(known int, larger bool, prior func(data.Architecture) [coordinates]Gaussian) (out score) {
	names, jobs := byJob(s.ms)
	for _, name := range names {
		rows := slices.Clone(jobs[name])
		from, to := len(rows), known // the rows to choose from, and those to predict
		if larger {
			from, to = len(rows)/2, len(rows)/2
		}
		if from < known || to == len(rows) {
			continue
		}
		for seed := range uint64(64) {
			rng := rand.New(rand.NewPCG(seed, 1))
			if larger {
				slices.SortStableFunc(rows, func(a, b data.Measurement) int {
					return cmp.Or(cmp.Compare(a.Status, b.Status), cmp.Compare(a.PeakMemory, b.PeakMemory)) // oom after ok
				})
			}
			rng.Shuffle(from, func(i, j int) { rows[i], rows[j] = rows[j], rows[i] })
			m := fitUnder(prior, rows[:known], rows[0].Architecture, 1)
			for _, r := range rows[to:] {
				m.GPU[r.GPUType] = r.GPUMemory
				bin := 0
				for f := m.Predict(r.Config).Fits; bin < 3 && f > []float64{.1, .5, .9}[bin]; bin++ {
				}
				if r.Status == data.OOM {
					out.oom[bin]++
					continue
				}
				out.ran[bin]++
				p, density := m.point(r.Config), 0.
				lns, left := m.posterior(&p, p.lnReported)
				for i, ln := range lns {
					t := distuv.StudentsT{Mu: ln, Sigma: left * m.factors[i].sd, Nu: 4}
					density += t.Prob(math.Log(r.PeakMemory)) / float64(len(lns))
				}
				peak := m.interval(lns, left)
				out.errors, out.density = append(out.errors, 100*math.Abs(peak.Mean/r.PeakMemory-1)), append(out.density, math.Log(density))
				if peak.Lo <= r.PeakMemory && r.PeakMemory <= peak.Hi {
					out.inside++
				}
			}
		}
	}
	return out
}

// Sources are scored under a prior learned without them.
func TestMeasuredPeaks(t *testing.T) {
	for _, s := range sources(t) {
		for _, by := range []struct {
			known  int
			larger bool
		}{{0, false}, {4, false}, {8, false}, {8, true}} {
			got := s.scoreOf(by.known, by.larger, s.prior.of)
			coverage := 100 * got.inside / len(got.errors)
			t.Logf("%s, %d rows known, larger peaks %t: mean error %.1f %%, %d %% of %d peaks inside; P(fits) to .1, .5, .9, 1: %v ran, %v ran out of memory",
				s.file, by.known, by.larger, stat.Mean(got.errors, nil), coverage, len(got.errors), got.ran, got.oom)
			if coverage < 85 || 10*got.oom[3] > got.ran[3]+got.oom[3] {
				t.Errorf("%s, %d rows known, larger peaks %t: %d %% inside their 90 %% intervals, %d out of memory called safe", s.file, by.known, by.larger, coverage, got.oom[3])
			}
		}
	}
}

// The width of a prior that is not learned hardly changes the score.
func BenchmarkWidths(b *testing.B) {
	for _, s := range sources(b) {
		as := s.scoreOf(4, false, s.prior.of)
		for name, at := range map[string]int{"state": state, "activation": activation, "scores": scoreBytes, "logits": logits, "constant": constant} {
			for _, factor := range []float64{.5, 2} {
				other := s.scoreOf(4, false, func(a data.Architecture) [coordinates]Gaussian {
					p := s.prior.of(a)
					p[at].SD *= factor
					return p
				})
				worse := stat.Mean(other.errors, nil) - stat.Mean(as.errors, nil)
				b.Logf("%s, width of %s × %g: mean error %+.1f points, mean log density %+.2f", s.file, name, factor,
					worse, stat.Mean(other.density, nil)-stat.Mean(as.density, nil))
				if math.Abs(worse) > 2 {
					b.Errorf("%s: the width of %s matters, and could be learned", s.file, name)
				}
			}
		}
	}
}

// Peaks of two stages whose last one holds the logits, as rank 0 reports them.
// One stage that holds all tells that its peaks leave the last one out, and then
// that one is not said to fit because the first does.
func TestPeakOfRankZero(t *testing.T) {
	var x [coordinates]float64
	for i, p := range learned().of(gpt) {
		x[i] = p.Mean
	}
	x[overhead], x[scores], x[reported], x[logits] = 0, -5, -5, math.Log(14)
	var ms []data.Measurement
	for _, stages := range []int{1, 2} {
		for _, b := range []float64{1, 2, 4} {
			c := config(2, b, data.Layout{PP: stages, Recompute: "full"})
			c.AccumSteps = 7
			p := pointOf(c, gpt)
			ms = append(ms, data.Measurement{Config: c, Status: data.OK, StepTime: 1, PeakMemory: math.Exp(p.lnReported(new(factorsOf(x[:]))))})
		}
	}
	c := ms[5].Config
	c.LocalBatch = 20
	p := pointOf(c, gpt)
	first, last := p.lnReported(new(factorsOf(x[:]))), p.ln(new(factorsOf(x[:])))
	if math.Exp(first) > 30<<30 || math.Exp(last) < 40<<30 {
		t.Fatalf("the case is not one: the first stage takes %g bytes, the last %g", math.Exp(first), math.Exp(last))
	}
	if got := Fit(ms, gpt, 1).Predict(c); got.Peak.Hi < math.Exp(last) || got.Fits > .5 {
		t.Errorf("%.3g bytes (%.3g to %.3g), fits with probability %.2f; the last stage takes %.3g", got.Peak.Mean, got.Peak.Lo, got.Peak.Hi, got.Fits, math.Exp(last))
	}
}
