package fit

import (
	"math"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"testing"

	"knee/data"
	"knee/internal/bench"
	"knee/internal/quantile"
)

// BenchmarkMemory reports the error on the splits that know least, with the
// five other jobs of the cluster, fully measured, to learn from:
//
//	go test ./fit -run '^$' -bench Memory -benchtime 1x
func BenchmarkMemory(b *testing.B) {
	dir := bench.Dir(b)
	splits := loadSplits(b, dir)
	for _, name := range []string{"onenode", "onegpu"} {
		for _, cluster := range []string{"t4", "a100"} {
			models := clusterModels(b, dir, cluster)
			b.Run(name+"/"+cluster, func(b *testing.B) {
				for range b.N {
					var sum, without score
					var peer, n float64
					for _, s := range splits {
						if s.split != name || s.cluster != cluster {
							continue
						}
						train := pick(loadBench(b, filepath.Join(dir, s.trainFile)), s.train)
						test := pick(loadBench(b, filepath.Join(dir, s.testFile)), s.test)
						others := slices.DeleteFunc(slices.Clone(models), func(m *Model) bool { return m.Job() == s.job })
						sum = sum.plus(fitAndJudge(b, train, test, Settings{Others: others}))
						without = without.plus(fitAndJudge(b, train, test, Settings{}))
						peer += s.peer
						n++
					}
					b.ReportMetric(sum.mape/n, "mape%")
					b.ReportMetric(without.mape/n, "without-mape%")
					b.ReportMetric(peer/n, "adaptdl-mape%")
					b.ReportMetric(sum.cover/n, "coverage%")
					b.ReportMetric(sum.width/n, "halfwidth%")
				}
			})
		}
	}
}

func (s score) plus(o score) score {
	return score{s.mape + o.mape, s.cover + o.cover, s.width + o.width, s.hits + o.hits, s.rows + o.rows, append(s.widths, o.widths...)}
}

func fitAndJudge(b *testing.B, train, test []data.Measurement, s Settings) score {
	m, err := Fit(train, s)
	if err != nil {
		b.Fatal(err)
	}
	return judge(b, m, test)
}

// clusterModels fits every job of a cluster to all its placements.
func clusterModels(b *testing.B, dir, cluster string) []*Model {
	files, err := filepath.Glob(filepath.Join(dir, "allreduce", "*-"+cluster+"-placements.csv"))
	if err != nil {
		b.Fatal(err)
	}
	var models []*Model
	for _, f := range files {
		m, err := Fit(loadBench(b, f), Settings{})
		if err != nil {
			b.Fatal(err)
		}
		models = append(models, m)
	}
	return models
}

// BenchmarkCrossValidation reports 5-fold cross-validation on all rows of
// each file of placements, and beside it Pollux's own form from the same rows.
func BenchmarkCrossValidation(b *testing.B) {
	files, _ := filepath.Glob(filepath.Join(bench.Dir(b), "allreduce", "*-placements.csv"))
	for range b.N {
		var sum, peer score
		var widths []float64
		n := float64(5 * len(files))
		for _, f := range files {
			ms := loadBench(b, f)
			perm := rand.New(rand.NewPCG(3, 3)).Perm(len(ms))
			for fold := range 5 {
				var train, test []data.Measurement
				for i, at := range perm {
					if i%5 == fold {
						test = append(test, ms[at])
					} else {
						train = append(train, ms[at])
					}
				}
				s := fitAndJudge(b, train, test, Settings{})
				sum, widths = sum.plus(s), append(widths, s.width)
				peer = peer.plus(fitAndJudge(b, train, test, Settings{Family: "pollux"}))
			}
		}
		b.ReportMetric(sum.mape/n, "mape%")
		b.ReportMetric(peer.mape/n, "pollux-mape%")
		b.ReportMetric(sum.cover/n, "coverage%")
		b.ReportMetric(quantile.Median(widths), "halfwidth%")
	}
}

// BenchmarkNoisyRuns reports coverage and half-width of the 90 % intervals
// where runs of one configuration differ by a log-normal factor, put on
// measured step times: 10 random rows fitted, others predicted.
func BenchmarkNoisyRuns(b *testing.B) {
	files, _ := filepath.Glob(filepath.Join(bench.Dir(b), "allreduce", "*-placements.csv"))
	for _, noise := range []struct {
		name string
		sd   float64
	}{{"0", 0}, {"5", .05}, {"10", .1}, {"20", .2}} {
		b.Run(noise.name+"percent", func(b *testing.B) {
			for range b.N {
				var sum score
				var widths []float64
				for _, f := range files {
					all := loadBench(b, f)
					for seed := range uint64(4) {
						rng := rand.New(rand.NewPCG(seed, 1))
						var ms []data.Measurement
						for _, i := range rng.Perm(len(all))[:110] {
							m, factor := all[i], math.Exp(noise.sd*rng.NormFloat64())
							m.StepTime *= factor
							m.SyncTime *= factor
							ms = append(ms, m)
						}
						s := fitAndJudge(b, ms[:10], ms[10:], Settings{})
						sum, widths = sum.plus(s), append(widths, s.width)
					}
				}
				n := float64(len(widths))
				b.ReportMetric(sum.mape/n, "mape%")
				b.ReportMetric(sum.cover/n, "coverage%")
				b.ReportMetric(quantile.Median(widths), "halfwidth%")
			}
		})
	}
}
