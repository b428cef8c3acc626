package report

import (
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"knee/data"
	"knee/fit"
	"knee/plots"
)

// Rows that differ in a knob or a layout only read differently.
func TestRowsNameTheWholeConfiguration(t *testing.T) {
	layout := data.Layout{TP: 2, PP: 4}
	run := data.Measurement{Status: data.OK, StepTime: 2, Config: data.Config{GPUType: "a100", Workers: 8, LocalBatch: 32,
		Layout: layout, Extra: map[string]string{"amp": "true"}}}
	if got := trialTable([]data.Measurement{run}).Rows[0][1].Text; got != run.Config.String() {
		t.Errorf("a trial of %s is %q", run.Config, got)
	}
	long, longer := run, run
	long.SeqLen, longer.SeqLen = 512, 1024
	if rows := trialTable([]data.Measurement{long, longer}).Rows; rows[0][1].Text != run.Config.String()+", seq_len 512" || rows[1][1].Text != run.Config.String()+", seq_len 1024" {
		t.Errorf("trials that differ in seq_len are %q and %q", rows[0][1].Text, rows[1][1].Text)
	}
	job := data.PlannedJob{GPUType: "a100", Workers: 8, LocalBatch: 32, Layout: layout, Extra: run.Extra, Reason: "because",
		Placement: []data.NodeShare{{Node: "n1", Workers: 6}, {Node: "n2", Workers: 2, PS: 1}}}
	row := planTable(&data.Plan{Jobs: []data.PlannedJob{job, {Name: "other", Reason: "full"}}}).Rows
	if got, why := row[0][2].Text, row[0][6].Text; got != run.Config.String() || why != "on n1:6 n2:2+1ps; because" {
		t.Errorf("a job that gets %s has %q, %q", run.Config, got, why)
	}
	if got, why := row[1][2].Text, row[1][6].Text; got != "" || why != "full" {
		t.Errorf("a job that waits gets %q, %q", got, why)
	}
}

// A curve of epochs, or of a metric, is drawn as that of a loss in steps.
func TestEveryTrainingCurveIsDrawn(t *testing.T) {
	for _, columns := range []string{"step,loss", "epoch,loss", "step,metric", "epoch,metric"} {
		table := columns + "\n"
		for x := range 12 {
			y := 1 / float64(x+2)
			if strings.HasSuffix(columns, "metric") {
				y = 1 - y
			}
			table += fmt.Sprintf("%d,%g\n", x+1, y)
		}
		path := filepath.Join(t.TempDir(), "c.csv")
		if err := os.WriteFile(path, []byte(table), 0o600); err != nil {
			t.Fatal(err)
		}
		if r, _ := render(t, path); len(r.Sections) != 1 || len(r.Sections[0].Figures) != 1 {
			t.Errorf("%s: %+v, want a figure", columns, r.Sections)
		}
	}
}

// A page shows one model of a job, and says so if there are more.
func TestSeveralModelsOfAJob(t *testing.T) {
	dir := t.TempDir()
	_, ms := study(t)
	for i, rows := range [][]data.Measurement{ms, ms[:4]} {
		m, err := fit.Fit(rows, fit.Settings{})
		if err != nil {
			t.Fatal(err)
		}
		if err := data.WriteFile(filepath.Join(dir, fmt.Sprint(i, ".json")), func(w io.Writer) error { return fit.EncodeModel(w, m) }); err != nil {
			t.Fatal(err)
		}
	}
	r, _ := render(t, dir)
	if want := hostile + ": of several models the last is shown"; len(r.Sections) != 1 || !slices.Contains(r.Warnings, want) {
		t.Errorf("%d sections, warnings %q, want %q", len(r.Sections), r.Warnings, want)
	}
}

// Prices are those of the flag, else of the measurements, as knee predict has them.
func TestPricesOfMeasurements(t *testing.T) {
	path := filepath.Join(t.TempDir(), "m.csv")
	table := "job,gpu_type,workers,local_batch,step_time_s,price_per_hour\na,t4,1,8,0.36,2\na,t4,2,8,0.4,4\na,t4,4,8,0.5,8\n"
	if err := os.WriteFile(path, []byte(table), 0o600); err != nil {
		t.Fatal(err)
	}
	for price, want := range map[float64]string{0: "$34.4", 20: "$344"} { // 8 or 80 US$ an hour, 64.6 samples/s
		in := Inputs{}
		if price > 0 {
			in.PricePerHour = map[string]float64{"t4": price}
		}
		if err := in.Read(path); err != nil {
			t.Fatal(err)
		}
		r, err := in.Report(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if !slices.ContainsFunc(r.Answers[0].Facts, func(f Fact) bool { return f.Name == "cost" && strings.HasPrefix(f.Text, want) }) {
			t.Errorf("price %v: %+v, want %s", price, r.Answers[0].Facts, want)
		}
	}
}

// Runs with batches of 32 and 256 of one law of samples are one curve in steps of
// 32; by step as recorded it would rise where the large batch ends.
func TestTrainingIsDrawnBySamples(t *testing.T) {
	j := job{}
	for i := range 60 {
		for run, batch := range map[string]float64{"small": 32, "large": 256} {
			n := float64(i + 1)
			j.curve = append(j.curve, data.CurvePoint{Run: run, Step: n, Loss: 100 / (n * batch), GlobalBatch: batch,
				Epoch: math.NaN(), Progress: math.NaN(), Metric: math.NaN()})
		}
	}
	var s Section
	j.reportCurve(&s)
	if len(s.Figures) != 1 {
		t.Fatalf("%d figures, want 1 (%v)", len(s.Figures), s.Text)
	}
	chart, ok := s.Figures[0].Figure.(*plots.Chart)
	if !ok || chart.XLabel != "step at batch 32" || !strings.Contains(s.Figures[0].Caption, "in steps of 32,") {
		t.Errorf("got %+v, want steps at batch 32", s.Figures[0])
	}
}

// A folder with two studies, a repetition, a prediction and a pair: only what was measured counts, by
// the time of its start, and each warning names its job.
func TestOnlyMeasurementsOfAFolderCount(t *testing.T) {
	dir := t.TempDir()
	for name, text := range map[string]string{
		"again.csv":   "job,gpu_type,workers,local_batch,step_time_s,started_at\na,t4,3,8,0.4,2025-01-02T00:00:00Z\n",
		"first.csv":   "job,gpu_type,workers,local_batch,step_time_s,started_at\na,t4,1,8,0.2,2025-01-01T00:00:00Z\na,t4,2,8,0.3,2025-01-01T01:00:00Z\n",
		"other.csv":   "job,gpu_type,workers,local_batch,throughput\nb,t4,1,8,40\nb,t4,2,8,60\n",
		"predict.csv": "job,gpu_type,workers,local_batch,step_time_s,throughput,throughput_lo\na,t4,64,8,0.5,1,1\n",
		"pairs.csv":   "application,beside,gpu_type,workers,share,step_time_s\na,b,t4,1,0.5,0.2\n",
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	r, _ := render(t, dir)
	if len(r.Inputs) != 3 || len(r.Sections) != 2 {
		t.Fatalf("%d sections of %v", len(r.Sections), r.Inputs)
	}
	var order []string
	for _, row := range r.Sections[0].Tables[len(r.Sections[0].Tables)-1].Table.Rows {
		order = append(order, row[1].Text)
	}
	if got := strings.Join(order, "; "); !strings.HasPrefix(got, "1 × t4") || !strings.HasSuffix(got, "3 × t4, allreduce, batch 8") {
		t.Errorf("trials %s", got)
	}
	if !slices.ContainsFunc(r.Warnings, func(w string) bool { return strings.HasPrefix(w, "a and b: ") }) {
		t.Errorf("no warning of both jobs in %q", r.Warnings)
	}
}

// Statistical efficiency is relative to the initial batch of the study, as in a search.
func TestAModelFittedForThePageHasTheBatchOfItsStudy(t *testing.T) {
	j := &job{name: "a"}
	for k := 1; k <= 2; k++ {
		j.measurements = append(j.measurements, data.Measurement{Config: data.Config{Job: "a", GPUType: "t4", Workers: k, LocalBatch: 64}, StepTime: 0.1 * float64(k), Status: data.OK})
		j.curve = append(j.curve, data.CurvePoint{Job: "a", Step: float64(k), Loss: 1, GlobalBatch: 64, GradSqr: 1, GradVar: 1, Epoch: math.NaN(), Progress: math.NaN(), Metric: math.NaN()})
	}
	in := Inputs{Studies: []*data.Study{{Job: "other"}, {Job: "a", Batch: data.Batch{Initial: 32}}}}
	if err := j.complete(t.Context(), in.studyOf(j).Batch); err != nil || j.model.NoiseScale().InitialBatch != 32 {
		t.Errorf("%v, noise scale %+v", err, j.model.NoiseScale())
	}
}

// A page doubts the model that it fits as knee fit does.
func TestAModelFittedForThePageIsDoubted(t *testing.T) {
	j := &job{name: "a"}
	for k := 1; k <= 100_000; k *= 10 { // a step takes 1 ms and 1 µs for each worker
		j.measurements = append(j.measurements, data.Measurement{Config: data.Config{Job: "a", GPUType: "h100", Workers: k, LocalBatch: 1}, StepTime: 1e-3 + 1e-6*float64(k), Status: data.OK})
	}
	if err := j.complete(t.Context(), data.Batch{}); err != nil || !strings.Contains(strings.Join(j.model.Warnings(), " "), "larger sizes are predicted from smaller ones with an error of") {
		t.Errorf("%v, %q", err, j.model.Warnings())
	}
}

// A doubt that holds of many jobs is one warning, which names some of them.
func TestDoubtsOfManyJobsAreOneWarning(t *testing.T) {
	var in Inputs
	for i := range 5 {
		in.Measurements = append(in.Measurements, data.Measurement{Config: data.Config{Job: fmt.Sprintf("j%d", i), GPUType: "t4", Workers: 1, Nodes: 1, LocalBatch: 8}, Status: data.OK, StepTime: 1})
	}
	r, err := in.Report(t.Context())
	if err != nil || len(r.Warnings) != 1 || !strings.HasPrefix(r.Warnings[0], "j0, j1 and 3 more: ") {
		t.Errorf("%q, %v", r.Warnings, err)
	}
}
