package predict

import (
	"encoding/csv"
	"math"
	"os"
	"path/filepath"
	"strconv"
	"testing"

	"gonum.org/v1/gonum/floats"

	"knee/data"
	"knee/fit/gradnoise"
	"knee/fit/speed"
	"knee/fit/speed/form"
	"knee/internal/bench"
)

// goldenRow is a row of numbers by column.
type goldenRow map[string]float64

func loadGolden(tb testing.TB) (rows []goldenRow, variants []string) {
	f, err := os.Open(filepath.Join(bench.Dir(tb), "peers", "adaptdl-goodput-golden.csv"))
	if err != nil {
		tb.Fatal(err)
	}
	defer f.Close()
	table, err := csv.NewReader(f).ReadAll()
	if err != nil {
		tb.Fatal(err)
	}
	for _, r := range table[1:] {
		row := goldenRow{}
		for i, name := range table[0] {
			if v, err := strconv.ParseFloat(r[i], 64); err == nil {
				row[name] = v
			}
		}
		rows, variants = append(rows, row), append(variants, r[1])
	}
	return rows, variants
}

// best applies Pollux's batch rule to the published functions of one row.
func (r goldenRow) best(t *testing.T, nodes, workers float64, master bool) (goodput float64, answer goldenRow) {
	timer := form.Published("pollux", data.AllReduce, 1, r["alpha_c"], r["beta_c"], r["alpha_n"], r["beta_n"], r["alpha_r"], r["beta_r"], r["gamma"])
	noise, err := gradnoise.Fit([]data.CurvePoint{{GradSqr: r["grad_sqr"], GradVar: r["grad_var"]}}, r["init_bsz"])
	if err != nil {
		t.Fatal(err)
	}
	c := data.Config{Workers: int(workers), Nodes: int(nodes)}
	eval := func(b speed.Batch) (throughput, efficiency float64) {
		c.LocalBatch, c.AccumSteps = b.Local, b.Accum
		return c.SamplesPerStep() / timer.StepTime(c), noise.Efficiency(c.GlobalBatch()).Mean
	}
	l := batchLimits{initial: r["init_bsz"], max: r["max_bsz"], localMin: r["min_atomic"], localMax: r["max_atomic"], accumulate: r["accumulation"] != 0, clip: master, pair: true}
	choices := []speed.Batch{{Local: r["init_bsz"]}}
	if !(master && workers == 1 && !l.accumulate) {
		choices = l.choices(workers)
	}
	if len(choices) == 0 {
		return 0, goldenRow{}
	}
	var goodputs []float64
	for _, b := range choices {
		x, e := eval(b)
		goodputs = append(goodputs, x*e)
	}
	choice := choices[floats.MaxIdx(goodputs)]
	x, e := eval(choice)
	return x * e, goldenRow{"throughput": x, "efficiency": e, "atomic_bsz": choice.Local, "accum_steps": float64(choice.Accum), "best_goodput": x * e}
}

// Throughput, efficiency, best batch and speedup agree with AdaptDL's
// goodput.py. Without accumulation its current version clips batches to the
// largest local one and keeps one worker at the initial batch; the version of
// the paper's artifact does neither.
func TestGoodputGolden(t *testing.T) {
	rows, variants := loadGolden(t)
	for i, r := range rows {
		master := variants[i] == "master"
		goodput, got := r.best(t, r["num_nodes"], r["num_replicas"], master)
		one, _ := r.best(t, 1, 1, master)
		got["speedup"] = goodput / one
		for _, col := range []string{"throughput", "efficiency", "best_goodput", "atomic_bsz", "accum_steps", "speedup"} {
			if math.Abs(got[col]-r[col]) > 1e-9*math.Abs(r[col]) {
				t.Errorf("row %d (%s, %v nodes, %v workers, accumulation %v): %s = %.12g, want %.12g",
					i+2, variants[i], r["num_nodes"], r["num_replicas"], r["accumulation"], col, got[col], r[col])
			}
		}
	}
}
