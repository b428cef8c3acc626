package pollux

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"knee/allocate/policy"
	"knee/allocate/simulate"
	"knee/allocate/simulate/agent"
	"knee/allocate/simulate/elastic"
	"knee/allocate/simulate/measured"
	"knee/internal/quantile"
	"slices"
)

// constants are those of knee that were once chosen by hand.
type constants struct {
	policy.Knee
	agent.Prior
}

// draw returns constants that are log-uniform around the defaults, or the
// defaults themselves.
func draw(r *rand.Rand, defaults bool) constants {
	c := constants{policy.Knee{Power: 0.2, Horizon: 300, Risk: policy.DefaultRisk, Learning: 600}, agent.DefaultPrior()}
	if defaults {
		return c
	}
	factor := func(most float64) float64 { return math.Pow(most, 2*r.Float64()-1) }
	c.Power = 0.5 * r.Float64()
	c.Horizon *= factor(3)
	c.Risk = 0.8 * r.Float64()
	c.Learning *= factor(4)
	c.Mean[1] = 0.5 + 2*r.Float64() // BetaC
	c.Mean[2] = -1 + 2*r.Float64()  // AlphaN
	return c
}

// resampled is a workload whose jobs and times of arrival are drawn from
// others.
func resampled(r *rand.Rand, from ...[]simulate.Job) []simulate.Job {
	var pool []simulate.Job
	for _, w := range from {
		pool = append(pool, w...)
	}
	out := make([]simulate.Job, len(from[0]))
	for i := range out {
		out[i] = pool[r.IntN(len(pool))]
		out[i].Submit = pool[r.IntN(len(pool))].Submit
	}
	slices.SortStableFunc(out, func(a, b simulate.Job) int { return int(a.Submit) - int(b.Submit) })
	for i := range out {
		out[i].Name = fmt.Sprintf("%s-%d", out[i].Application, i)
	}
	return out
}

// BenchmarkLeaveOneOut scores knee on each workload with the constants that
// are best on the others, and on workloads drawn from the others.
func BenchmarkLeaveOneOut(b *testing.B) {
	numbers, theirs := []int{1, 2, 6}, []float64{2088.76875, 3322.94375, 2446.13125}
	const settings, drawn = 14, 1
	var loads [][]simulate.Job
	var p *measured.Profiles
	for _, n := range numbers {
		var jobs []simulate.Job
		jobs, p = load(b, n)
		loads = append(loads, jobs)
	}
	scored := func(jobs []simulate.Job, c constants) simulate.Summary {
		h := elastic.NewHistory()
		h.Prior = c.Prior
		got, err := run(jobs, Settings{Cluster: published(), Profiles: p, Policy: "knee", Knee: &c.Knee, History: h})
		if err != nil {
			b.Fatal(err)
		}
		return simulate.Summarize(got, 64)
	}
	for b.Loop() {
		r := rand.New(rand.NewPCG(1, 1))
		all := make([]constants, settings)
		own := make([][]float64, settings) // by setting and workload, relative to Pollux
		for s := range all {
			all[s] = draw(r, s == 0)
			for w := range loads {
				own[s] = append(own[s], scored(loads[w], all[s]).JCTMean/theirs[w])
			}
		}
		var mean, by float64
		for w := range loads {
			var others [][]simulate.Job
			for o := range loads {
				if o != w {
					others = append(others, loads[o])
				}
			}
			var extra [][]simulate.Job
			for range drawn {
				extra = append(extra, resampled(r, others...))
			}
			base := make([]float64, drawn)
			for x := range extra {
				base[x] = scored(extra[x], all[0]).JCTMean
			}
			best, least := 0, math.Inf(1)
			for s := range all {
				var v float64
				for o := range loads {
					if o != w {
						v += own[s][o] / own[0][o]
					}
				}
				for x := range extra {
					v += scored(extra[x], all[s]).JCTMean / base[x]
				}
				if v < least {
					best, least = s, v
				}
			}
			got := scored(loads[w], all[best])
			b.Logf("workload %d: setting %d (power %.2f horizon %.0f risk %.2f learning %.0f BetaC %.2f AlphaN %.2f): mean %.0f s, p99 %.0f; by hand %.0f; Pollux %.0f; best of all %.0f",
				numbers[w], best, all[best].Power, all[best].Horizon, all[best].Risk, all[best].Learning, all[best].Mean[1], all[best].Mean[2],
				got.JCTMean, got.JCTP99, own[0][w]*theirs[w], theirs[w], bestOf(own, w)*theirs[w])
			mean += got.JCTMean
			by += theirs[w]
		}
		b.ReportMetric(mean/by, "of-pollux")
	}
}

func bestOf(own [][]float64, w int) float64 {
	var v []float64
	for _, s := range own {
		v = append(v, s[w])
	}
	slices.Sort(v)
	return quantile.Sorted(v, 0)
}
