package replay

import (
	"fmt"
	"path/filepath"
	"slices"
	"testing"

	"knee/internal/bench"
)

// recorded loads the measured tables, or skips if they are absent.
func recorded(tb testing.TB) []*Table {
	tb.Helper()
	dir := bench.Dir(tb)
	files, err := filepath.Glob(filepath.Join(dir, "search", "*.csv"))
	if err != nil || len(files) == 0 {
		tb.Skipf("no search tables in %s", dir)
	}
	var tables []*Table
	for _, f := range files {
		of, err := LoadTables(f)
		if err != nil {
			tb.Fatal(err)
		}
		tables = append(tables, of...)
	}
	return tables
}

// budgetOf returns the evaluations per search of a table.
func budgetOf(t *Table) int {
	if len(t.Candidates) > 100 {
		return 30
	}
	return 20
}

// BenchmarkSearch reports, per table and method, means over b.N seeds: the
// evaluations and cost until within 5 % of the optimum, and when and how well
// the search stops:
//
//	go test ./bayesopt/replay -run '^$' -bench Search -benchtime 30x
func BenchmarkSearch(b *testing.B) {
	for _, table := range recorded(b) {
		for _, method := range []string{"random", "tpe", "guided"} {
			b.Run(fmt.Sprintf("%s/%s", table.Name, method), func(b *testing.B) {
				s, err := table.Try(b.Context(), method, Goal{}, budgetOf(table), b.N)
				if err != nil {
					b.Fatal(err)
				}
				b.ReportMetric(s.Evals, "evals-to-5%")
				b.ReportMetric(s.Cost, "cost/best")
				b.ReportMetric(s.StopEvals, "stop-evals")
				b.ReportMetric(100*s.StopWithin5, "%stop-within-5%")
			})
		}
	}
}

// On most tables the guided search comes within 5 % in fewer evaluations than
// random search.
func TestSearchBeatsRandom(t *testing.T) {
	const seeds = 2 // the benchmark has more; this keeps the test quick
	var ratio []float64
	for _, table := range recorded(t) {
		if len(table.Candidates) > 100 {
			continue // the small ones are many, and quick
		}
		evals := map[string]float64{}
		for _, method := range []string{"random", "guided"} {
			s, err := table.Try(t.Context(), method, Goal{}, 12, seeds)
			if err != nil {
				t.Fatal(err)
			}
			evals[method] = s.Evals
		}
		ratio = append(ratio, evals["guided"]/evals["random"])
	}
	slices.Sort(ratio)
	if median := ratio[len(ratio)/2]; median > 0.75 {
		t.Errorf("median over tables of evaluations to 5 %%, guided ÷ random = %.2f, want at most 0.75", median)
	}
}
