package bayesopt

import (
	"encoding/csv"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"knee/data"
)

// searchTable is a complete, measured search space: every row a candidate.
type searchTable struct {
	name  string
	cands []data.Config
	rows  map[string]data.Measurement
	cost  map[string]float64 // US$ of the whole job
	best  float64
}

// benchTables reads the measured tables, or skips where they are absent.
func benchTables(tb testing.TB) []searchTable {
	tb.Helper()
	dir := os.Getenv("KNEE_BENCH")
	if dir == "" {
		dir = filepath.Join("..", "..", "shared", "bench")
	}
	files, err := filepath.Glob(filepath.Join(dir, "search", "*.csv"))
	if err != nil || len(files) == 0 {
		tb.Skipf("no search tables in %s; set KNEE_BENCH to the folder of measured data", dir)
	}
	var tables []searchTable
	for _, f := range files {
		tables = append(tables, readTable(tb, f))
	}
	return tables
}

func readTable(tb testing.TB, path string) searchTable {
	tb.Helper()
	file, err := os.Open(path)
	if err != nil {
		tb.Fatal(err)
	}
	defer file.Close()
	records, err := csv.NewReader(file).ReadAll()
	if err != nil {
		tb.Fatal(err)
	}
	t := searchTable{name: strings.TrimSuffix(filepath.Base(path), ".csv"), rows: map[string]data.Measurement{}, cost: map[string]float64{}, best: math.Inf(1)}
	for _, r := range records[1:] {
		t.addRow(tb, records[0], r)
	}
	return t
}

// addRow turns one row into a candidate and its outcome. Names that identify a
// machine only together with its numbers are left out.
func (t *searchTable) addRow(tb testing.TB, header, row []string) {
	tb.Helper()
	m := data.Measurement{Config: data.Config{Extra: map[string]string{}}}
	var price float64
	for k, name := range header {
		v, _ := strconv.ParseFloat(row[k], 64)
		switch name {
		case "machines", "nodes", "workers":
			m.Workers = int(v)
		case "ps":
			m.PS = int(v)
		case "mode":
			m.Mode = data.Mode(row[k])
		case "status":
			m.Status = data.Status(row[k])
		case "time_s":
			m.StepTime, m.Wall = v, v
		case "price_per_hour":
			price = v
		case "cost_usd", "accuracy", "vm_name", "vm_size", "vm_flavor": // outcomes and names
		default:
			m.Extra[name] = row[k]
		}
	}
	m.PricePerHour = price * float64(m.Workers+m.PS)
	cost := m.Cost()
	if m.Status != data.OK {
		m.StepTime = 0
	} else {
		t.best = min(t.best, cost)
	}
	key := m.Key()
	t.cands, t.rows[key], t.cost[key] = append(t.cands, m.Config), m, cost
}

// run replays one search and reports the evaluations to within 5 % of the
// optimum (budget + 1 if never), the evaluation it would have stopped at, the
// regret there, and what the evaluations up to the goal cost in multiples of
// the best. With toGoal it ends as soon as the goal is reached.
func (t *searchTable) run(tb testing.TB, s Strategy, budget int, toGoal bool) (evals, stop int, stopRegret, spent float64) {
	tb.Helper()
	h := History{Candidates: t.cands}
	best := math.Inf(1)
	evals, stop = budget+1, budget
	for n := 1; n <= budget && !(toGoal && evals <= budget); n++ {
		next, err := s.Next(h)
		if err != nil {
			tb.Fatalf("%s: %v", t.name, err)
		}
		if next.Stop {
			stop = n - 1
			break
		}
		key := next.Config.Key()
		h.Measured = append(h.Measured, t.rows[key])
		if t.rows[key].Status == data.OK {
			best = min(best, t.cost[key])
		}
		if evals > budget {
			spent += t.cost[key] / t.best
			if best <= 1.05*t.best {
				evals = n
			}
		}
	}
	return evals, stop, best/t.best - 1, spent
}

// BenchmarkSearch reports, per table and strategy, the mean over seeds of the
// evaluations and of the money (in multiples of the best row) until within 5 %
// of the optimum, and where and how well the search stops:
//
//	go test ./bayesopt -run '^$' -bench Search -benchtime 30x
func BenchmarkSearch(b *testing.B) {
	for _, table := range benchTables(b) {
		budget := 20
		if len(table.cands) > 100 {
			budget = 30
		}
		price := func(c data.Config) float64 { return table.rows[c.Key()].PricePerHour }
		for _, method := range []string{"random", "tpe", "knee", "knee-map"} {
			b.Run(fmt.Sprintf("%s/%s", table.name, method), func(b *testing.B) {
				var evals, spent, stops, good float64
				for seed := range b.N {
					o := Options{Objective: CostToTarget, Price: price, Seed: int64(seed)}
					name, isMAP := strings.CutSuffix(method, "-map")
					if isMAP {
						o.Hyper = "map"
					}
					s, err := NewStrategy(name, o)
					if err != nil {
						b.Fatal(err)
					}
					e, stop, regret, money := table.run(b, s, budget, false)
					evals, spent, stops = evals+float64(e), spent+money, stops+float64(stop)
					if regret <= 0.05 {
						good++
					}
				}
				n := float64(b.N)
				b.ReportMetric(evals/n, "evals-to-5%")
				b.ReportMetric(spent/n, "cost/best")
				b.ReportMetric(stops/n, "stop-evals")
				b.ReportMetric(100*good/n, "%stop-within-5%")
			})
		}
	}
}

// The guided search must find a configuration within 5 % in fewer evaluations
// than random search on most tables, and on average by a wide margin.
func TestSearchBeatsRandom(t *testing.T) {
	const seeds = 1 // the benchmark has more; this keeps the test quick
	var ratio []float64
	for _, table := range benchTables(t) {
		price := func(c data.Config) float64 { return table.rows[c.Key()].PricePerHour }
		total := map[string]int{}
		for _, name := range []string{"random", "knee"} {
			for seed := range seeds {
				s, err := NewStrategy(name, Options{Objective: CostToTarget, Price: price, Seed: int64(seed)})
				if err != nil {
					t.Fatal(err)
				}
				e, _, _, _ := table.run(t, s, 20, true)
				total[name] += e
			}
		}
		ratio = append(ratio, float64(total["knee"])/float64(total["random"]))
	}
	slices.Sort(ratio)
	if median := ratio[len(ratio)/2]; median > 0.75 {
		t.Errorf("median over tables of evaluations to 5 %%, knee ÷ random = %.2f, want at most 0.75", median)
	}
}
