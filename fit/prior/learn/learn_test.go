package main

import (
	"bytes"
	"maps"
	"math"
	"strings"
	"testing"

	"knee/data"
	"knee/internal/bench"
)

// Every dataset yields splits of one job, with disjoint known and predicted
// rows.
func TestSplits(t *testing.T) {
	dir := bench.Dir(t)
	jobs, err := loadJobs(dir)
	if err != nil {
		t.Fatal(err)
	}
	splits, err := splitsOf(dir, jobs)
	if err != nil {
		t.Fatal(err)
	}
	count := map[string]int{}
	for _, s := range splits {
		count[s.dataset]++
		if len(s.train) == 0 || len(s.test) == 0 {
			t.Errorf("%s, %s, %s: %d rows known, %d predicted", s.dataset, s.name, s.protocol, len(s.train), len(s.test))
		}
		for _, r := range append(s.train, s.test...) {
			if r.Job != s.name && s.protocol != "unseen size" {
				t.Errorf("%s: a row of %s", s.name, r.Job)
			}
		}
	}
	for _, s := range sources() {
		if count[s.dataset] == 0 && s.dataset != "sailor" {
			t.Errorf("no split of %s", s.dataset)
		}
	}
}

// The report has a line for each dataset and protocol, with rivals.
func TestScoresOfTheStartingValues(t *testing.T) {
	dir := bench.Dir(t)
	var out bytes.Buffer
	if err := run(&out, []string{"-bench", dir, "-only", "3 sizes", "-v"}); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"mlperf", "llm-foundry", "linear", "power", "inside"} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("the report lacks %q:\n%s", want, out.String())
		}
	}
}

// A number moves by the least amount within a standard error of the best, and
// not at all if sources disagree or only one is left.
func TestLeastMove(t *testing.T) {
	agreed := gains{
		-1: {"a": -.2, "b": -.3, "c": -.2}, -.5: {"a": -.1, "b": -.1, "c": -.1},
		.5: {"a": .19, "b": .1, "c": .2}, 1: {"a": .2, "b": .3, "c": .1},
	}
	disputed := gains{-1: {"a": 0, "b": 0}, -.5: {"a": 0, "b": 0}, .5: {"a": 0, "b": 0}, 1: {"a": .9, "b": -.1}}
	for _, tt := range []struct {
		name    string
		gains   gains
		without string
		want    float64
	}{
		{"sources agree", agreed, "", .5},  // 1 is better by .037 ± .088, and than 0 by .2 ± .058
		{"of two sources", agreed, "c", 1}, // 1 is better by .105 ± .095
		{"sources disagree", disputed, "", 0},
		{"one source left", disputed, "b", 0},
	} {
		if got := tt.gains.leastMove(tt.without); got != tt.want {
			t.Errorf("%s: moved by %g, want %g", tt.name, got, tt.want)
		}
	}
}

// A move that sources would not gain from, had it been chosen by the others, is not made.
func TestCheckedMove(t *testing.T) {
	agreed := gains{
		-1: {"a": -.2, "b": -.2, "c": -.2}, -.5: {"a": -.1, "b": -.1, "c": -.1},
		.5: {"a": .1, "b": .1, "c": .1}, 1: {"a": .2, "b": .2, "c": .2},
	}
	swung := maps.Clone(agreed)
	swung[.5] = map[string]float64{"a": -.1, "b": .2, "c": .3} // the least move of all
	swung[1] = map[string]float64{"a": .3, "b": .3, "c": -.1}  // that of a and b
	for _, tt := range []struct {
		name           string
		gains          gains
		least, checked float64
	}{
		{"sources agree", agreed, 1, 1},
		{"each source swings it", swung, .5, 0}, // a and c lose .1 by what the others choose
	} {
		if least, checked := tt.gains.leastMove(), tt.gains.checkedMove(); least != tt.least || checked != tt.checked {
			t.Errorf("%s: least move %g, checked %g; want %g and %g", tt.name, least, checked, tt.least, tt.checked)
		}
	}
}

// Rows that are likelier under another noise change it.
func TestGains(t *testing.T) {
	var splits []split
	for i, growth := range []float64{1.01, 1.02, 1.03} { // nearly linear scaling, without noise
		s := split{job: &job{dataset: string(rune('a' + i)), name: "j"}, protocol: "2 sizes"}
		for n, step := 0, 1.; n < 6; n, step = n+1, step*growth {
			m := data.Measurement{Status: data.OK, StepTime: step, Config: data.Config{Job: "j", GPUType: "h100", Workers: 8 << n, Nodes: 1 << n, LocalBatch: 8}}
			if n < 2 {
				s.train = append(s.train, m)
			} else {
				s.test = append(s.test, m)
			}
		}
		splits = append(splits, s)
	}
	all := gainsOf(start(), splits, t.Logf)
	for i, n := range numbers() {
		switch by := all[i]; n.name {
		case "noise":
			for source, gain := range by[-.5] {
				if !(gain > 0) {
					t.Errorf("less noise gains %g on %s, want more than nothing", gain, source)
				}
			}
		case "knobs", "layouts", "own":
			if len(by[-1]) > 0 {
				t.Errorf("%s concerns %v, want no source", n.name, by[-1])
			}
		}
	}
	learned, moves := learn(start(), all)
	if learned.Kernel.Noise >= start().Kernel.Noise {
		t.Errorf("learned %v, want less noise", moves)
	}
}

func TestRulers(t *testing.T) {
	rows := []data.Measurement{
		{StepTime: 1, Config: data.Config{Workers: 1, LocalBatch: 10}},
		{StepTime: 2, Config: data.Config{Workers: 2, LocalBatch: 10}},
	}
	linear, power := rulers(rows)
	at := data.Measurement{Config: data.Config{Workers: 4, LocalBatch: 5}}
	if l, p := linear(at), power(at); math.Abs(l-1) > 1e-9 || math.Abs(p-2) > 1e-9 {
		t.Errorf("linear scaling says %g, want 1; the power law %g, want 2", l, p)
	}
}

// The Gaussian process on knobs takes the words of layouts as categories.
func TestWordsAreKnobsOfLogProcess(t *testing.T) {
	at := func(batch float64, sharding string) data.Measurement {
		m := data.Measurement{StepTime: batch, Config: data.Config{Workers: 8, LocalBatch: batch, Layout: data.Layout{TP: 2, Sharding: sharding}}}
		if sharding == "zero3" {
			m.StepTime *= 2
		}
		return m
	}
	var rows []data.Measurement
	for b := 1.; b <= 16; b *= 2 {
		rows = append(rows, at(b, ""), at(b, "zero3"))
	}
	predict := logProcess(rows)
	if ratio := predict(at(6, "zero3")) / predict(at(6, "")); math.Abs(ratio-2) > .1 {
		t.Errorf("zero3 takes %.2f times as long, want 2", ratio)
	}
}
