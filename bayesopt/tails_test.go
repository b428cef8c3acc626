package bayesopt_test

import (
	"math"
	"path/filepath"
	"testing"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/stat/distuv"

	"knee/bayesopt"
	"knee/bayesopt/replay"
	"knee/data"
	"knee/internal/bench"
)

// BenchmarkTails learns Constants.TailFreedom: of t distributions with the
// predicted standard deviation, the one likeliest to give the errors of the
// predictions of unmeasured rows after 8, 12 and 16 trials of recorded tables.
// It prints the freedom learned without each kind of table and, on that kind,
// the gain in mean log density over normal errors, and over t errors with
// widths that the record narrows too:
//
//	go test ./bayesopt -run '^$' -bench Tails -benchtime 1x
func BenchmarkTails(b *testing.B) {
	fixed, recorded := map[string]*predicted{}, map[string]*predicted{}
	for _, pattern := range []string{"search/cherrypick*.csv", "search/scout*.csv", "scaling/rubick.csv", "scaling/vtrain-multi.csv"} {
		files, _ := filepath.Glob(filepath.Join(bench.Dir(b), pattern))
		for _, f := range files {
			tables, err := replay.LoadTables(f)
			if err != nil {
				b.Fatal(err)
			}
			for _, t := range tables {
				if fixed[t.Kind] == nil {
					fixed[t.Kind], recorded[t.Kind] = &predicted{}, &predicted{}
				}
				predictRest(b, t, fixed[t.Kind], recorded[t.Kind])
			}
		}
	}
	for kind, e := range fixed {
		nu := likeliest(fixed, kind)
		b.ReportMetric(nu, "freedom-without-"+kind)
		b.ReportMetric(e.density(nu)-e.density(1e6), "gain-over-normal-"+kind)
		b.ReportMetric(e.density(nu)-recorded[kind].density(nu), "gain-over-narrowed-"+kind)
	}
	b.ReportMetric(likeliest(fixed, ""), "freedom")
}

// predicted holds errors in predicted standard deviations, and ln of these.
type predicted struct{ errors, logSD []float64 }

// density is the mean log density of errors under Student's t with the predicted
// standard deviations.
func (p *predicted) density(freedom float64) (mean float64) {
	t := distuv.StudentsT{Sigma: math.Sqrt((freedom - 2) / freedom), Nu: freedom}
	for k, e := range p.errors {
		mean += (t.LogProb(e) - p.logSD[k]) / float64(len(p.errors))
	}
	return mean
}

// likeliest returns the freedom of the largest density averaged over kinds.
func likeliest(kinds map[string]*predicted, without string) float64 {
	freedoms := []float64{2.5, 3, 3.5, 4, 5, 6, 8, 12, 20, 40}
	sums := make([]float64, len(freedoms))
	for kind, e := range kinds {
		for k, nu := range freedoms {
			if kind != without {
				sums[k] += e.density(nu)
			}
		}
	}
	return freedoms[floats.MaxIdx(sums)]
}

// predictRest searches a table for the shortest time and adds the errors.
func predictRest(b *testing.B, t *replay.Table, fixed, recorded *predicted) {
	b.Helper()
	o := t.Options(replay.Goal{Time: true}, 0)
	s, err := bayesopt.NewGuided(o)
	if err != nil {
		b.Fatal(err)
	}
	logTimes := map[int]float64{}
	for i, r := range t.Outcomes {
		if r.Status == data.OK {
			logTimes[i] = math.Log(r.Time)
		}
	}
	h := bayesopt.History{Candidates: t.Candidates}
	for n := 1; n <= min(16, len(t.Candidates)-1); n++ {
		next, err := s.Next(h)
		if err != nil {
			b.Fatal(err)
		}
		r := t.Outcomes[next.Index]
		h.Measured = append(h.Measured, data.Measurement{Config: next.Config, Status: r.Status, StepTime: r.Time, Wall: r.Time, PricePerHour: r.Hourly})
		for _, e := range []*predicted{fixed, recorded} {
			if n == 8 || n == 12 || n == 16 {
				errors, logSD, err := bayesopt.PredictionErrors(o, h, logTimes, e == recorded)
				if err != nil {
					b.Fatal(err)
				}
				e.errors, e.logSD = append(e.errors, errors...), append(e.logSD, logSD...)
			}
		}
	}
}
