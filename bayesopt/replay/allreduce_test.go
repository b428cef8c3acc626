package replay_test

import (
	"math"
	"math/rand/v2"
	"path/filepath"
	"strings"
	"testing"

	"knee/bayesopt"
	"knee/bayesopt/baseline"
	"knee/bayesopt/replay"
	"knee/data"
	"knee/fit"
	"knee/fit/gradnoise"
	"knee/internal/bench"
	"knee/profile"
)

// US$ per GPU-hour on demand, typical of large clouds.
var gpuPrice = map[string]float64{"t4": 0.35, "a100": 3.0}

func gpuHours(c data.Config) float64 { return gpuPrice[c.GPUType] * float64(c.Workers) }

// jobs returns the step times of each job on all its GPU types, up to four
// nodes, and the efficiency of its batches.
func jobs(tb testing.TB) map[string]*replay.Table {
	tb.Helper()
	dir := bench.Dir(tb)
	files, _ := filepath.Glob(filepath.Join(dir, "allreduce", "*-t4-placements.csv"))
	out := map[string]*replay.Table{}
	for _, f := range files {
		job, _, _ := strings.Cut(filepath.Base(f), "-")
		ms := load(tb, f)
		ms = append(ms, load(tb, strings.Replace(f, "-t4-", "-a100-", 1))...)
		t, err := replay.NewStepTable(job, ms, replay.Steps{Price: gpuHours, Efficiency: efficiency(tb, dir, job), Window: 60, Forms: profile.SpeedForms()})
		if err != nil {
			tb.Fatal(err)
		}
		out[job] = t
	}
	return out
}

func load(tb testing.TB, path string) []data.Measurement {
	tb.Helper()
	ms, _, err := data.LoadMeasurements(path)
	if err != nil {
		tb.Fatal(err)
	}
	return ms
}

// efficiency is from the gradient noise scale of the job's own training runs.
func efficiency(tb testing.TB, dir, job string) func(float64) float64 {
	tb.Helper()
	files, _ := filepath.Glob(filepath.Join(dir, "training", job+"-batch*.csv"))
	initial := math.Inf(1)
	var points []data.CurvePoint
	for _, f := range files {
		var batch float64
		name := strings.TrimSuffix(filepath.Base(f), ".csv")
		for _, r := range name[strings.LastIndex(name, "h")+1:] {
			batch = 10*batch + float64(r-'0')
		}
		curve, _, err := data.LoadTable(f, data.ReadCurve)
		if err != nil {
			tb.Fatal(err)
		}
		for _, p := range curve {
			p.Run = name
			points = append(points, p)
		}
		initial = min(initial, batch)
	}
	scale, err := gradnoise.Fit(points, initial)
	if err != nil {
		tb.Fatal(err)
	}
	return func(m float64) float64 { return scale.Efficiency(m).Mean }
}

// BenchmarkGoodputPerDollar reports, per job, the evaluations until within 5 %
// of the highest goodput per dollar in the job's table:
//
//	go test ./bayesopt/replay -run '^$' -bench GoodputPerDollar -benchtime 10x
func BenchmarkGoodputPerDollar(b *testing.B) {
	for job, table := range jobs(b) {
		for _, method := range []string{"random", "tpe", "cma", "gp-ei", "cherrypick", "guided"} {
			b.Run(job+"/"+method, func(b *testing.B) {
				s, err := table.Try(b.Context(), method, replay.Goal{}, 20, b.N)
				if err != nil {
					b.Fatal(err)
				}
				b.ReportMetric(s.Evals, "evals-to-5%")
				b.ReportMetric(s.Cost, "cost/cheapest-trial")
			})
		}
	}
}

// BenchmarkSpeedForms compares searches for the highest throughput on T4 with
// and without the speed families of package fit as prior means, per job: the
// evaluations until within 5 %, the evaluations until the search stops, and how
// often it stops within 5 %:
//
//	go test ./bayesopt/replay -run '^$' -bench SpeedForms -benchtime 10x
func BenchmarkSpeedForms(b *testing.B) {
	files, _ := filepath.Glob(filepath.Join(bench.Dir(b), "allreduce", "*-t4-placements.csv"))
	for _, f := range files {
		job, _, _ := strings.Cut(filepath.Base(f), "-")
		for name, forms := range map[string][]bayesopt.MeanForm{"without": nil, "with": profile.SpeedForms()} {
			b.Run(job+"/"+name, func(b *testing.B) {
				table, err := replay.NewStepTable(job, load(b, f), replay.Steps{Price: gpuHours, Window: 60, Forms: forms,
					Efficiency: func(float64) float64 { return 1 }})
				if err != nil {
					b.Fatal(err)
				}
				s, err := table.Try(b.Context(), "guided", replay.Goal{Time: true}, 15, b.N)
				if err != nil {
					b.Fatal(err)
				}
				b.ReportMetric(s.Evals, "evals-to-5%")
				b.ReportMetric(s.StopEvals, "stop-evals")
				b.ReportMetric(100*s.StopWithin5, "%stop-within-5%")
			})
		}
	}
}

// BenchmarkAccuracy reports the mean absolute percentage error of the step
// times of a whole table, fitted to eight rows chosen for accuracy and to eight
// random rows, and the cost of measuring them in GPU-minutes:
//
//	go test ./bayesopt/replay -run '^$' -bench Accuracy -benchtime 5x
func BenchmarkAccuracy(b *testing.B) {
	files, _ := filepath.Glob(filepath.Join(bench.Dir(b), "allreduce", "*-placements.csv"))
	for _, f := range files {
		ms := load(b, f)
		for _, method := range []string{"random", "guided"} {
			b.Run(strings.TrimSuffix(filepath.Base(f), "-placements.csv")+"/"+method, func(b *testing.B) {
				var mape, cost float64
				for seed := range b.N {
					rows := eight(b, ms, method, int64(seed))
					model, err := fit.Fit(rows, fit.Settings{})
					if err != nil {
						b.Fatal(err)
					}
					mape += errorOver(b, model, ms) / float64(b.N)
					for _, m := range rows {
						cost += float64(m.Workers) / float64(b.N)
					}
				}
				b.ReportMetric(mape, "MAPE-%")
				b.ReportMetric(cost, "GPU-trials")
			})
		}
	}
}

// eight returns eight rows, drawn at random or chosen for accuracy.
func eight(tb testing.TB, ms []data.Measurement, method string, seed int64) []data.Measurement {
	tb.Helper()
	const rows = 8
	if method == "random" {
		var out []data.Measurement
		for _, i := range rand.New(rand.NewPCG(uint64(seed), 8)).Perm(len(ms))[:rows] {
			out = append(out, ms[i])
		}
		return out
	}
	s, err := baseline.NewStrategy(method, bayesopt.Options{Objective: bayesopt.Accuracy, Seed: seed, KeepGoing: true,
		Price: func(c data.Config) float64 { return float64(c.Workers) }})
	if err != nil {
		tb.Fatal(err)
	}
	h := bayesopt.History{}
	known := map[string]data.Measurement{}
	for _, m := range ms {
		if _, twice := known[m.Key()]; !twice {
			known[m.Key()] = m
			h.Candidates = append(h.Candidates, m.Config)
		}
	}
	for range rows {
		next, err := s.Next(h)
		if err != nil {
			tb.Fatal(err)
		}
		h.Measured = append(h.Measured, known[next.Config.Key()])
	}
	return h.Measured
}

// errorOver is the mean absolute percentage error of a model.
func errorOver(tb testing.TB, model *fit.Model, ms []data.Measurement) float64 {
	tb.Helper()
	var sum float64
	for _, m := range ms {
		p, err := model.Predict(m.Config)
		if err != nil {
			tb.Fatal(err)
		}
		sum += 100 * math.Abs(p.StepTime.Mean-m.StepTime) / m.StepTime
	}
	return sum / float64(len(ms))
}
