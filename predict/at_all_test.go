package predict

import (
	"errors"
	"math"
	"strings"
	"testing"

	"knee/data"
)

// AtAll agrees with At, goals included.
func TestAtAllEqualsAt(t *testing.T) {
	p := &Predictor{Model: newModel(t), Goal: Goal{Steps: 1000}, Batch: data.Batch{Initial: 64}, Price: map[string]float64{"a100": 3}}
	var cs []data.Config
	for i := range 300 {
		cs = append(cs, data.Config{GPUType: []string{"a100", "t4"}[i%2], Workers: 1 + i%20, LocalBatch: float64(16 + i%3)})
	}
	all, err := p.AtAll(cs)
	if err != nil {
		t.Fatal(err)
	}
	near := func(a, b data.Estimate) bool {
		return math.Abs(a.Mean-b.Mean) <= 1e-9*b.Mean && math.Abs(a.Lo-b.Lo) <= 1e-9*b.Mean && math.Abs(a.Hi-b.Hi) <= 1e-9*b.Mean
	}
	for i, c := range cs {
		one, err := p.At(c)
		if err != nil {
			t.Fatal(err)
		}
		a := all[i]
		if a.Config.Key() != one.Config.Key() || !near(a.StepTime, one.StepTime) || !near(a.TimeToTarget, one.TimeToTarget) || !near(a.CostToTarget, one.CostToTarget) || a.Why != one.Why {
			t.Fatalf("%v: %+v alone, %+v among others", c, one, a)
		}
	}
}

func TestAtAllNamesTheRow(t *testing.T) {
	p := &Predictor{Model: newModel(t)}
	cs := []data.Config{{GPUType: "t4", Workers: 2}, {GPUType: "t4", Workers: 2}, {GPUType: "h100", Workers: 2}}
	_, err := p.AtAll(cs)
	var row *RowError
	if !errors.As(err, &row) || row.Row != 2 || !strings.Contains(err.Error(), "h100") {
		t.Errorf("error %v, want that of row 2", err)
	}
	// Steps are at the initial batch, which is not given here.
	p.Goal.Steps = 100
	if _, err := p.AtAll(cs[:2]); !errors.As(err, &row) || row.Row != 0 || !strings.Contains(err.Error(), "batch.initial") {
		t.Errorf("error %v, want row 0 to ask for the initial batch", err)
	}
	if none, err := p.AtAll(nil); err != nil || len(none) != 0 {
		t.Errorf("nothing asked: %v, %v", none, err)
	}
}
