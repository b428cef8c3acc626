package main

import (
	"bytes"
	"math"
	"strings"
	"testing"

	"knee/data"
	"knee/fit/prior"
	"knee/internal/bench"
)

// Every dataset yields splits whose rows are of one job and not shared
// between what is known and what is predicted.
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
	for d := range sources() {
		if count[d] == 0 && d != "sailor" {
			t.Errorf("no split of %s", d)
		}
	}
}

// The shipped prior was learned from what it says, and reading it back from
// its own text changes nothing.
func TestScoreOfTheShippedPrior(t *testing.T) {
	dir := bench.Dir(t)
	var out bytes.Buffer
	if err := run(&out, []string{"-bench", dir, "-score", "-only", "3 sizes", "-v"}); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"mlperf", "llm-foundry", "linear", "power", "inside"} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("the report lacks %q:\n%s", want, out.String())
		}
	}
}

// Learning makes what was held out likelier, and leaves alone what no split
// speaks of.
func TestLearn(t *testing.T) {
	row := func(job string, k int, step float64) data.Measurement {
		return data.Measurement{Status: data.OK, StepTime: step, Config: data.Config{Job: job, GPUType: "h100", Workers: k, Nodes: (k + 7) / 8, LocalBatch: 8}}
	}
	var splits []split
	for i, growth := range []float64{1.01, 1.02, 1.03} { // nearly perfect scaling
		j := &job{dataset: "made up", name: string(rune('a' + i))}
		s := split{job: j, protocol: "2 sizes"}
		for n, step := 0, 1.; n < 6; n, step = n+1, step*growth {
			m := row(j.name, 8<<n, step)
			if n < 2 {
				s.train = append(s.train, m)
			} else {
				s.test = append(s.test, m)
			}
		}
		splits = append(splits, s)
	}
	before, err := start()
	if err != nil {
		t.Fatal(err)
	}
	after, err := learn(clone(before), splits, dials(before), 1, func(string, ...any) {})
	if err != nil {
		t.Fatal(err)
	}
	value := func(p *prior.Speed) (sum float64) {
		for i := range splits {
			sum += splits[i].value(p)
		}
		return sum
	}
	if a, b := value(before), value(after); !(b > a+.1) {
		t.Errorf("held-out rows are worth %.3f before and %.3f after", a, b)
	}
	if before.Forms["ps"]["transfer"] != after.Forms["ps"]["transfer"] {
		t.Error("the prior of parameter servers moved without any")
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
