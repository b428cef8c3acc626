package fit

import (
	"math"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"strconv"
	"testing"

	"knee/data"
	"knee/internal/bench"
	"knee/internal/quantile"
)

// serverJobs returns the ok rows of the measured parameter-server jobs.
func serverJobs(tb testing.TB) map[string][]data.Measurement {
	dir := bench.Dir(tb)
	jobs := map[string][]data.Measurement{}
	for _, job := range []string{"resnet-50", "seq2seq", "cnn-text-classification", "wlm"} {
		jobs[job] = slices.DeleteFunc(loadBench(tb, filepath.Join(dir, "ps", job+".csv")),
			func(m data.Measurement) bool { return m.Status != data.OK })
	}
	return jobs
}

// BenchmarkServers reports the median error over 30 random subsets of the
// measured rows, averaged over four jobs, of the family ps and of relative
// least squares on Optimus's form from the same rows:
//
//	go test ./fit -run '^$' -bench Servers -benchtime 1x
func BenchmarkServers(b *testing.B) {
	jobs := serverJobs(b)
	for _, n := range []int{5, 10, 20} {
		b.Run("random/"+strconv.Itoa(n), func(b *testing.B) {
			for range b.N {
				var ours, optimus, cover float64
				for job, all := range jobs {
					var scores [2][]float64
					for seed := range uint64(30) {
						perm := rand.New(rand.NewPCG(seed, 1)).Perm(len(all))
						train, test := pick(all, perm[:n]), pick(all, perm[n:])
						s := serverScores(b, train, test)
						scores[0], scores[1] = append(scores[0], s[0].mape), append(scores[1], s[1].mape)
						cover += s[0].cover / 30 / float64(len(jobs))
					}
					m0, m1 := quantile.Median(scores[0]), quantile.Median(scores[1])
					if testing.Verbose() {
						b.Logf("%s, %d rows: ours %.1f %%, optimus %.1f %%", job, n, m0, m1)
					}
					ours, optimus = ours+m0/float64(len(jobs)), optimus+m1/float64(len(jobs))
				}
				b.ReportMetric(ours, "mape%")
				b.ReportMetric(optimus, "optimus-mape%")
				b.ReportMetric(cover, "coverage%")
			}
		})
	}
	b.Run("designed/10", func(b *testing.B) {
		for range b.N {
			var ours, optimus float64
			for _, all := range jobs {
				chosen := designed(all, 10)
				var rest []int
				for i := range all {
					if !slices.Contains(chosen, i) {
						rest = append(rest, i)
					}
				}
				s := serverScores(b, pick(all, chosen), pick(all, rest))
				ours, optimus = ours+s[0].mape/float64(len(jobs)), optimus+s[1].mape/float64(len(jobs))
			}
			b.ReportMetric(ours, "mape%")
			b.ReportMetric(optimus, "optimus-mape%")
		}
	})
}

func serverScores(b *testing.B, train, test []data.Measurement) (s [2]score) {
	for i, family := range []string{Auto, "optimus-sync"} {
		m, err := Fit(train, Settings{Family: family})
		if err != nil {
			b.Fatal(err)
		}
		s[i] = judge(b, m, test)
	}
	return s
}

// designed chooses rows as a study would: the corners (1,1), (1,k_max) and
// (p_max,1), then greedily the row farthest from those chosen in (ln p, ln k).
func designed(ms []data.Measurement, n int) []int {
	at := func(i int) (k, p float64) {
		return math.Log(float64(ms[i].Workers)), math.Log(float64(max(ms[i].PS, 1)))
	}
	var kMax, pMax float64
	for i := range ms {
		k, p := at(i)
		kMax, pMax = math.Max(kMax, k), math.Max(pMax, p)
	}
	var chosen []int
	for _, corner := range [][2]float64{{0, 0}, {kMax, 0}, {0, pMax}} {
		best, near := -1, math.Inf(1)
		for i := range ms {
			k, p := at(i)
			if d := math.Hypot(k-corner[0], p-corner[1]); d < near && !slices.Contains(chosen, i) {
				best, near = i, d
			}
		}
		chosen = append(chosen, best)
	}
	for len(chosen) < n {
		best, far := -1, -1.
		for i := range ms {
			k, p := at(i)
			d := math.Inf(1)
			for _, c := range chosen {
				kc, pc := at(c)
				d = math.Min(d, math.Hypot(k-kc, p-pc))
			}
			if d > far {
				best, far = i, d
			}
		}
		chosen = append(chosen, best)
	}
	return chosen
}
