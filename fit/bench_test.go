package fit

import (
	"encoding/csv"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"knee/data"
	"knee/internal/bench"
	"knee/internal/quantile"
)

// benchDir returns the folder of measured data, which is not part of the
// project.
func loadBench(tb testing.TB, path string) []data.Measurement {
	ms, _, err := data.LoadMeasurements(path)
	if err != nil {
		tb.Fatal(err)
	}
	return ms
}

// benchSplit is a row of peers/adaptdl-splits.csv.
type benchSplit struct {
	cluster, job, split string
	trainFile, testFile string
	train, test         []int
	peer                float64 // MAPE of AdaptDL's fit, percent
}

func loadSplits(tb testing.TB, dir string) []benchSplit {
	f, err := os.Open(filepath.Join(dir, "peers", "adaptdl-splits.csv"))
	if err != nil {
		tb.Fatal(err)
	}
	defer f.Close()
	rows, err := csv.NewReader(f).ReadAll()
	if err != nil {
		tb.Fatal(err)
	}
	ints := func(s string) []int {
		var v []int
		for _, w := range strings.Fields(s) {
			i, err := strconv.Atoi(w)
			if err != nil {
				tb.Fatal(err)
			}
			v = append(v, i)
		}
		return v
	}
	var out []benchSplit
	for _, r := range rows[1:] {
		peer, _ := strconv.ParseFloat(r[8], 64)
		out = append(out, benchSplit{r[0], r[1], r[2], r[4], r[6], ints(r[5]), ints(r[7]), peer})
	}
	return out
}

func pick(ms []data.Measurement, rows []int) []data.Measurement {
	var out []data.Measurement
	for _, i := range rows {
		out = append(out, ms[i])
	}
	return out
}

// score is how a model did on test rows: means, and for pooling over splits
// what the rows were.
type score struct {
	mape, cover, width float64
	hits, rows         float64
	widths             []float64 // half-widths, percent
}

func judge(tb testing.TB, m *Model, test []data.Measurement) score {
	var s score
	n := float64(len(test))
	for _, r := range test {
		p, err := m.Predict(r.Config)
		if err != nil {
			tb.Fatal(err)
		}
		e := p.StepTime
		s.mape += 100 * math.Abs(e.Mean-r.StepTime) / r.StepTime / n
		if e.Lo <= r.StepTime && r.StepTime <= e.Hi {
			s.cover += 100 / n
			s.hits++
		}
		s.rows++
		half := 50 * (e.Hi - e.Lo) / e.Mean
		s.width += half / n
		s.widths = append(s.widths, half)
	}
	return s
}

// BenchmarkSplits reports the mean absolute percentage error of step times on
// the splits that AdaptDL's own fit was scored on, by cluster, beside that
// score, with the coverage of the 90 % intervals and their half-width:
//
//	go test ./fit -run '^$' -bench Splits -benchtime 1x
func BenchmarkSplits(b *testing.B) {
	dir := bench.Dir(b)
	splits := loadSplits(b, dir)
	files := map[string][]data.Measurement{}
	for _, s := range splits {
		for _, f := range []string{s.trainFile, s.testFile} {
			if files[f] == nil {
				files[f] = loadBench(b, filepath.Join(dir, f))
			}
		}
	}
	family := os.Getenv("KNEE_FAMILY") // to score a published family instead
	for _, name := range []string{"small", "onenode", "rand8", "extrap", "onegpu"} {
		for _, cluster := range []string{"t4", "a100"} {
			b.Run(name+"/"+cluster, func(b *testing.B) {
				for range b.N {
					var sum score
					var peer, n float64
					for _, s := range splits {
						if s.split != name || s.cluster != cluster {
							continue
						}
						m, err := Fit(pick(files[s.trainFile], s.train), Settings{Family: family})
						if err != nil {
							b.Fatal(err)
						}
						sc := judge(b, m, pick(files[s.testFile], s.test))
						if testing.Verbose() {
							b.Logf("%s %s %s ours %.1f peer %.1f cover %.0f width %.0f", s.cluster, s.job, s.split, sc.mape, s.peer, sc.cover, sc.width)
						}
						sum.mape += sc.mape
						sum.cover += sc.cover
						sum.width += sc.width
						peer += s.peer
						n++
					}
					if n == 0 {
						b.Skip("the splits hold none of these")
					}
					b.ReportMetric(sum.mape/n, "mape%")
					b.ReportMetric(peer/n, "adaptdl-mape%")
					b.ReportMetric(sum.cover/n, "coverage%")
					b.ReportMetric(sum.width/n, "halfwidth%")
				}
			})
		}
	}
}

// BenchmarkSplitsPooled reports the coverage of the 90 % intervals and their
// median half-width over the predicted rows of all splits together.
func BenchmarkSplitsPooled(b *testing.B) {
	dir := bench.Dir(b)
	files := map[string][]data.Measurement{}
	load := func(name string) []data.Measurement {
		if files[name] == nil {
			files[name] = loadBench(b, filepath.Join(dir, name))
		}
		return files[name]
	}
	for range b.N {
		var pooled score
		for _, s := range loadSplits(b, dir) {
			m, err := Fit(pick(load(s.trainFile), s.train), Settings{})
			if err != nil {
				b.Fatal(err)
			}
			pooled = pooled.plus(judge(b, m, pick(load(s.testFile), s.test)))
		}
		b.ReportMetric(100*pooled.hits/pooled.rows, "coverage%")
		b.ReportMetric(quantile.Median(pooled.widths), "halfwidth%")
		b.ReportMetric(pooled.rows, "rows")
	}
}

// BenchmarkPredict is the time of one prediction with its interval, by the
// measurements the model was fitted to.
func BenchmarkPredict(b *testing.B) {
	for _, n := range []int{8, 64, maxRows} {
		b.Run(strconv.Itoa(n), func(b *testing.B) {
			m, err := Fit(syntheticCollective(n), Settings{})
			if err != nil {
				b.Fatal(err)
			}
			c := data.Config{GPUType: "t4", Workers: 12, Placement: data.Placement{4, 4, 4}, LocalBatch: 48}
			for b.Loop() {
				if _, err := m.Predict(c); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// BenchmarkPredictAll is the time of 100,000 predictions with their
// intervals: a sweep over 100 batches and 1,000 placements.
func BenchmarkPredictAll(b *testing.B) {
	var cs []data.Config
	for batch := range 100 {
		for i := range 1000 {
			k := 1 + i/8
			cs = append(cs, data.Config{GPUType: "t4", Workers: k, LocalBatch: float64(16 + batch),
				Placement: data.EvenPlacement(k, 1+(i%8)*(k-1)/8)})
		}
	}
	for _, n := range []int{8, 64, maxRows} {
		b.Run(strconv.Itoa(n), func(b *testing.B) {
			m, err := Fit(syntheticCollective(n), Settings{})
			if err != nil {
				b.Fatal(err)
			}
			for b.Loop() {
				if _, err := m.PredictAll(cs); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// syntheticCollective returns n measurements of a made-up job with a little
// noise, over batches, nodes and widths.
func syntheticCollective(n int) []data.Measurement {
	truth := &Collective{
		Fixed: .05, PerBatch: .1, RefBatch: 32, BatchPower: .9, Intra: .03, IntraPower: .1,
		Inter: .05, InterPower: .15, WidthPower: .1, TwoNodes: 1.1, Overlap: 2,
	}
	rng := rand.New(rand.NewPCG(7, 7))
	var ms []data.Measurement
	for i := 0; len(ms) < n; i++ {
		nodes := 1 + i%4
		width := 1 + (i/4)%4
		batch := 16 * math.Pow(2, float64(i/16)/8)
		c := data.Config{Job: "made-up", GPUType: "t4", Mode: data.AllReduce, Workers: nodes * width,
			Placement: data.EvenPlacement(nodes*width, nodes), LocalBatch: math.Round(batch*1e3) / 1e3}
		t := truth.StepTime(c) * math.Exp(.02*rng.NormFloat64())
		p := pointOf(c, scale{batch: 32})
		_, compute := truth.prepare().logTimes(&p)
		ms = append(ms, data.Measurement{Config: c, StepTime: t, SyncTime: math.Max(t-math.Exp(compute), 0), Status: data.OK})
	}
	return ms
}
