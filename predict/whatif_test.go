package predict

import (
	"math"
	"strings"
	"testing"

	"knee/data"
)

func TestWhatIf(t *testing.T) {
	m := newModel(t)
	p := &Predictor{Model: m}
	curves, err := Sweeps(p, []data.Config{{GPUType: "a100", Workers: 2}, {GPUType: "a100", Workers: 8}, {GPUType: "t4", Workers: 8}})
	if err != nil || len(curves) != 2 || len(curves[0]) != 2 || curves[0][1].Config.Workers != 8 || curves[1][0].Config.GPUType != "t4" {
		t.Fatalf("%v, %v; want a curve of 2 and 8 a100 and one of 8 t4", curves, err)
	}
	for text, check := range map[string]func(speedup float64) bool{
		"compute=1x":                     func(v float64) bool { return math.Abs(v-1) < 1e-9 },
		"compute=0.5x":                   func(v float64) bool { return v > 1 && v < 2 },
		"compute=2":                      func(v float64) bool { return v > .5 && v < 1 },
		"inter_node=0.5x, intra_node=.5": func(v float64) bool { return v >= 1 && v < 2 },
	} {
		changed, err := Change(m, text)
		if err != nil {
			t.Fatal(err)
		}
		all, err := WhatIf(m, changed, curves[0])
		if err != nil {
			t.Fatal(err)
		}
		for i, c := range all {
			if !check(c.Speedup.Mean) || c.Before != curves[0][i].StepTime || math.Abs(c.Before.Mean/c.After.Mean/c.Speedup.Mean-1) > .1 {
				t.Errorf("%s: %+v", text, c)
			}
		}
	}
	for _, text := range []string{"", "compute", "compute=", "compute=-1x", "compute=1e9x", "overlap=2x", "hierarchical=2x"} {
		if _, err := Change(m, text); err == nil || !strings.Contains(err.Error(), "want NAME=FACTORx") {
			t.Errorf("%q: %v", text, err)
		}
	}
}
