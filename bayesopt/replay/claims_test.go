package replay

import (
	"math"
	"path/filepath"
	"testing"

	"knee/bayesopt"
	"knee/internal/bench"
)

// BenchmarkClaims compares the claimed probability that something is better by
// 5 % with how often it is, per kind of table, from the seventh to the 22nd trial
// of searches that go on: the mean claim and share, the mean log score (0 is
// best) and that of claiming the share always; and of claims below the
// probability at which a search stops, the share that is wrong:
//
//	go test ./bayesopt/replay -run '^$' -bench Claims -benchtime 1x
func BenchmarkClaims(b *testing.B) {
	tables := recorded(b)
	for _, name := range []string{"rubick", "vtrain-multi"} {
		of, err := LoadTables(filepath.Join(bench.Dir(b), "scaling", name+".csv"))
		if err != nil {
			b.Fatal(err)
		}
		tables = append(tables, of...)
	}
	byKind := map[string][]*Table{}
	for _, t := range tables {
		byKind[t.Kind] = append(byKind[t.Kind], t)
	}
	for kind := range kinds() {
		for seed := range int64(8) {
			byKind[kind] = append(byKind[kind], madeUp(kind, 9000+seed))
		}
	}
	for kind, of := range byKind {
		b.Run(kind, func(b *testing.B) {
			var n, said, was, score, stops, wrong float64
			for seed := range b.N {
				for _, t := range of {
					t.claims(b, int64(seed), func(claim float64, better bool) {
						n, said = n+1, said+claim
						claim = min(max(claim, 0.002), 0.998) // claims are averages of about a thousand draws
						stop := claim < bayesopt.LearnedConstants().StopChance
						if stop {
							stops++
						}
						if !better {
							score += math.Log1p(-claim)
							return
						}
						was, score = was+1, score+math.Log(claim)
						if stop {
							wrong++
						}
					})
				}
			}
			share := min(max(was/n, 1e-9), 1-1e-9)
			b.ReportMetric(said/n, "claimed")
			b.ReportMetric(was/n, "true")
			b.ReportMetric(score/n, "log-score")
			b.ReportMetric(share*math.Log(share)+(1-share)*math.Log1p(-share), "log-score-constant")
			b.ReportMetric(stops, "below-stop")
			b.ReportMetric(100*wrong/max(1, stops), "%wrong-below-stop")
		})
	}
}

// claims searches a table and calls each with every claim.
func (t *Table) claims(b *testing.B, seed int64, each func(claim float64, better bool)) {
	b.Helper()
	s, err := bayesopt.NewGuided(t.Options(Goal{}, seed))
	if err != nil {
		b.Fatal(err)
	}
	h, best := bayesopt.History{Candidates: t.Candidates}, math.Inf(1)
	for n := range min(22, len(t.Candidates)-1) {
		next, err := s.Next(h)
		if err != nil {
			b.Fatal(err)
		}
		if n >= 6 && !math.IsInf(best, 1) {
			each(next.Better, t.Optimum(Goal{}) < 0.95*best)
		}
		h.Measured = append(h.Measured, t.measurement(next.Index, Goal{}, seed, 1))
		best = min(best, Goal{}.value(t.Outcomes[next.Index]))
	}
}
