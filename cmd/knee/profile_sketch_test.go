package main

import (
	"strings"
	"testing"
	"unicode/utf8"

	"knee/data"
)

func TestSketchOfTrials(t *testing.T) {
	var ms []data.Measurement
	add := func(mode data.Mode, workers, ps int, batch, step float64, status data.Status) {
		ms = append(ms, data.Measurement{Config: data.Config{GPUType: "a100", Mode: mode, Workers: workers, PS: ps, LocalBatch: batch}, StepTime: step, Status: status})
	}
	add(data.AllReduce, 2, 0, 32, 0.1, data.OK)
	add(data.AllReduce, 2, 0, 64, 0.1, data.OK)
	add(data.PSSync, 4, 1, 32, 0, data.OOM)
	add(data.AllReduce, 1, 0, 32, 0.1, data.OK)
	var b strings.Builder
	a := &app{stdout: &b}
	if err := a.sketchTrials(ms[:2]); err != nil || b.Len() > 0 {
		t.Errorf("of one bar: %v, %q", err, b.String())
	}
	if err := a.sketchTrials(ms); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"1 worker ▕", " 320 batch 32\n", " 1280 batch 64 ◀ best\n", "a100, ps-sync, 1 ps: 4 workers ▕", " oom\n", "trials 1 to 4 ▅█×▃\n"} {
		if !strings.Contains(b.String(), want) {
			t.Errorf("the sketch lacks %q:\n%s", want, b.String())
		}
	}
	for line := range strings.Lines(b.String()) {
		if n := utf8.RuneCountInString(line) - 1; n > 80 {
			t.Errorf("a line of %d columns: %q", n, line)
		}
	}
}
