package pollux

import (
	"cmp"
	"math"
	"strings"
	"testing"

	"knee/allocate/policy"
	"knee/allocate/simulate"
	"knee/allocate/simulate/measured"
	"knee/internal/bench"
)

// BenchmarkLearn replays 16 drawn workloads, which no benchmark scores, with pollux and
// with knee of several horizons, and prints the geometric mean of their mean JCT and
// the mean of their p99, relative to pollux.
func BenchmarkLearn(b *testing.B) {
	p, err := measured.Load(bench.Dir(b))
	if err != nil {
		b.Skip(err)
	}
	score := func(name string, k *policy.Knee) (mean, p99 float64) {
		for seed := range int64(16) {
			jobs, set, err := Prepare(drawn(b, seed), Settings{Cluster: published(), Profiles: p, Policy: name})
			if err != nil {
				b.Fatal(err)
			}
			if k != nil {
				set.Policy = *k
			}
			r, err := simulate.Run(jobs, set)
			if err != nil {
				b.Fatal(err)
			}
			s := r.Summary
			mean, p99 = mean+math.Log(s.JCTMean)/16, p99+s.JCTP99/16
		}
		return math.Exp(mean), p99
	}
	for b.Loop() {
		mean, p99 := score("pollux", nil)
		for _, k := range []policy.Knee{{Horizon: 100}, {}, {Horizon: 600}, {Horizon: 1200}} {
			m, q := score("knee", &k)
			b.Logf("horizon %g: mean %.3f, p99 %.3f of pollux", cmp.Or(k.Horizon, 300), m/mean, q/p99)
		}
	}
}

// drawn is a workload of 120 to 200 jobs in eight hours, at an even rate or one that
// grows, of two mixes of applications.
func drawn(tb testing.TB, seed int64) []simulate.Job {
	tb.Helper()
	weights := func(text string) []simulate.Weight {
		w, err := simulate.ParseWeights(strings.Fields(text))
		if err != nil {
			tb.Fatal(err)
		}
		return w
	}
	mix := [...]string{"cifar10=38 ncf=35 deepspeech2=20 bert=5 yolov3=1 imagenet=1", "cifar10=36 ncf=36 deepspeech2=14 bert=8 yolov3=4 imagenet=2"}
	jobs, err := simulate.Generator{
		Count: [...]int{160, 160, 120, 200}[seed%4], Hours: 8, Diurnal: 0.6 * float64(seed/2%2), MedianSeconds: 600, Sigma: 1,
		Mix: weights(mix[seed%2]), GPUs: weights("1=5 2=2 4=2 8=1"), Seed: 101 + seed,
	}.Jobs()
	if err != nil {
		tb.Fatal(err)
	}
	return jobs
}
