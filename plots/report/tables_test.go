package report

import (
	"math"
	"strings"
	"testing"

	"knee/data"
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
