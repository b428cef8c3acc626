package data_test

import (
	"math"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"knee/data"
)

func TestReadCurve(t *testing.T) {
	const table = "progress,iteration,metric,grad_sqr,lr\n0,0,86.7,1.9e14,0.1\n14774.5,940,,-3,0.1\n"
	points, warnings, err := data.ReadCurve(strings.NewReader(table), "c.csv")
	if err != nil {
		t.Fatal(err)
	}
	nan := math.NaN()
	want := []data.CurvePoint{
		{Step: 0, Progress: 0, Metric: 86.7, GradSqr: 1.9e14, Epoch: nan, Loss: nan, GlobalBatch: nan, GradVar: nan},
		{Step: 940, Progress: 14774.5, Metric: nan, GradSqr: -3, Epoch: nan, Loss: nan, GlobalBatch: nan, GradVar: nan},
	}
	if diff := cmp.Diff(want, points, sameData()); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]string{"c.csv: ignored unknown columns: lr"}, warnings); diff != "" {
		t.Errorf("warnings (-want +got):\n%s", diff)
	}
	var b strings.Builder
	if err := data.WriteCurve(&b, points); err != nil {
		t.Fatal(err)
	}
	wantText := "step,progress,metric,grad_sqr\n0,0,86.7,190000000000000\n940,14774.5,,-3\n"
	if diff := cmp.Diff(wantText, b.String()); diff != "" {
		t.Errorf("written (-want +got):\n%s", diff)
	}
}

func TestReadCurveRefuses(t *testing.T) {
	checkFailures(t, []failure{
		{"empty", "", "f: found an empty file, want a CSV header row with column names"},
		{"no x", "loss\n1\n", "f:1:step: found columns loss, want a column step, iteration, epoch or progress"},
		{"no y", "step\n1\n", "f:1:loss: found columns step, want a column loss, metric or grad_sqr"},
		{"alias", "step,iteration,loss\n", "f:1:iteration: found columns step, iteration, loss, want step or iteration, which mean the same, not both"},
		{"NaN", "step,loss\n1,nan\n", `f:2:loss: found "nan", want a finite number, or an empty cell if it was not recorded`},
		{"negative", "iteration,loss\n-1,1\n", `f:2:iteration: found "-1", want a number ≥ 0`},
		{"row without x", "step,loss\n,1\n", "f:2:step: found nothing, want step, epoch or progress in every row"},
		{"row without y", "step,loss,run\n1,1,a\n2,,a\n", "f:3:loss: found nothing, want loss, metric or grad_sqr in every row"},
		{"batch", "step,loss,global_batch\n1,1,0\n", `f:2:global_batch: found "0", want samples > 0`},
	}, errorOf(withoutWarnings(data.ReadCurve)))
}

func TestWriteCurveRefuses(t *testing.T) {
	err := data.WriteCurve(&strings.Builder{}, []data.CurvePoint{{Loss: math.Inf(1)}})
	want := `write curve: curve:2:loss: found "+Inf", want a finite number, or an empty cell if it was not recorded, at most 1e30`
	if err == nil || err.Error() != want {
		t.Errorf("got %v, want %s", err, want)
	}
}

func TestCurveRoundTrip(t *testing.T) {
	maybe := rapid.OneOf(rapid.Just(math.NaN()), rapid.Float64Range(1e-29, 1e12), rapid.Just(0.0))
	batch := rapid.OneOf(rapid.Just(math.NaN()), rapid.Float64Range(1e-3, 1e9))
	rapid.Check(t, func(t *rapid.T) {
		points := rapid.SliceOfN(rapid.Custom(func(t *rapid.T) data.CurvePoint {
			return data.CurvePoint{
				Job: rapid.StringMatching(`[a-z",]{0,4}`).Draw(t, "job"), Step: rapid.Float64Range(1e-20, 1e9).Draw(t, "step"),
				Epoch: maybe.Draw(t, "epoch"), Progress: maybe.Draw(t, "progress"), Loss: rapid.Float64Range(1e-20, 1e9).Draw(t, "loss"),
				Metric: maybe.Draw(t, "metric"), GlobalBatch: batch.Draw(t, "batch"), GradSqr: maybe.Draw(t, "sqr"), GradVar: maybe.Draw(t, "var"),
			}
		}), 0, 5).Draw(t, "points")
		checkRoundTrip(t, points, data.WriteCurve, withoutWarnings(data.ReadCurve))
	})
}

func FuzzReadCurve(f *testing.F) {
	f.Add("progress,iteration,metric,grad_sqr,grad_var\n7387.0,7387,86.7,1e14,-1e3\n")
	f.Add("job,run,step,epoch,loss,global_batch\r\na,1,0,,2.3,128\r\n\r\n")
	f.Add("step,loss\n1e-320,0x1p-3\n")
	f.Fuzz(func(t *testing.T, table string) {
		points, _, err := data.ReadCurve(strings.NewReader(table), "f")
		if err == nil {
			checkRoundTrip(t, points, data.WriteCurve, withoutWarnings(data.ReadCurve))
		}
	})
}

// A run resumed at step 3 recorded 3 and 4 again; other runs, the metric and a file in no
// order stay as they are.
func TestReadCurveOfAResumedRun(t *testing.T) {
	const head = "run,step,loss,metric\n"
	rows := []string{"a,1,9,", "b,1,8,", "a,2,7,", "a,3,6,", "a,3,6.5,", "a,4,5,", "a,3,4,", "a,3,4.5,", "a,4,3,", "a,5,2,", "a,1,,.5", "a,4,,.6"}
	points, warnings, err := data.ReadCurve(strings.NewReader(head+strings.Join(rows, "\n")), "c.csv")
	if err != nil {
		t.Fatal(err)
	}
	var left []float64
	for _, p := range points {
		left = append(left, p.Loss)
	}
	if diff := cmp.Diff([]float64{9, 8, 7, 4, 4.5, 3, 2, math.NaN(), math.NaN()}, left, sameData()); diff != "" {
		t.Errorf("losses (-want +got):\n%s", diff)
	}
	if len(warnings) != 1 || !strings.Contains(warnings[0], "c.csv: line 8 goes back to an earlier step, as after a resume: 3 values recorded before") {
		t.Errorf("warnings %q", warnings)
	}
	for _, table := range []string{"step,loss\n3,1\n2,2\n1,3\n", "step,epoch,loss\n50,,3\n100,,2\n150,,2\n,2,1\n"} { // the newest first; a last row without a step
		points, warnings, err := data.ReadCurve(strings.NewReader(table), "c.csv")
		if err != nil || len(points) < 3 || len(points) != strings.Count(table, "\n")-1 || len(warnings) > 0 {
			t.Errorf("%q: %v, %q, %v", table, points, warnings, err)
		}
	}
}
