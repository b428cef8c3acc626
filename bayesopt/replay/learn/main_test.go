package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"knee/bayesopt"
	"knee/bayesopt/replay"
)

// The choice for a fold does not depend on the tables left out.
func TestChooseLeavesOut(t *testing.T) {
	now := bayesopt.LearnedConstants()
	tables := []*replay.Table{{Name: "a", Kind: "a"}, {Name: "b", Kind: "b"}}
	l := &learner{seeds: 1, scores: map[run]replay.Score{}}
	for _, k := range knobs() {
		for _, c := range append(k.settings(now), now) {
			for _, t := range tables {
				s := replay.Score{Evals: 8, StopEvals: 8}
				if c.LengthSD != now.LengthSD && t.Name == "a" {
					s.Evals = 2 // better on that kind only
				}
				l.scores[run{c, t}] = s
			}
		}
	}
	folds := foldsOf(tables)
	if c := l.choose(now, folds[0].rest); c != now {
		t.Errorf("without table a: %s, want the present constants", describe(now, c))
	}
	if c := l.choose(now, folds[1].rest); c.LengthSD == now.LengthSD {
		t.Errorf("without table b: %s, want another length sd", describe(now, c))
	}
}

// A search that ends sooner, better and without failures has a smaller loss.
func TestLoss(t *testing.T) {
	good := replay.Score{Evals: 3, StopEvals: 3, StopWithin5: 1}
	for name, change := range map[string]func(*replay.Score){
		"found later":      func(w *replay.Score) { w.Evals = 4 },
		"stopped later":    func(w *replay.Score) { w.StopEvals = 4 },
		"stopped too soon": func(w *replay.Score) { w.StopEvals, w.StopWithin5 = 2, 0 },
		"failures":         func(w *replay.Score) { w.Failed = 0.2 },
	} {
		worse := good
		change(&worse)
		if loss(worse) <= loss(good) {
			t.Errorf("%s: loss %g, want more than %g", name, loss(worse), loss(good))
		}
	}
}

// The program prints every setting and the scores of kinds left out.
func TestRun(t *testing.T) {
	var rows strings.Builder
	rows.WriteString("machines,price_per_hour,time_s,cost_usd,status\n")
	for k := 1; k <= 12; k++ {
		fmt.Fprintf(&rows, "%d,1,%d,%d,ok\n", k, 100+10*k, 12+k)
	}
	var files []string
	for _, name := range []string{"a-1.csv", "b-1.csv"} {
		files = append(files, filepath.Join(t.TempDir(), name))
		if err := os.WriteFile(files[len(files)-1], []byte(rows.String()), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	tables, err := load(files, 0, 1)
	if err != nil {
		t.Fatal(err)
	}
	var out strings.Builder
	l := &learner{seeds: 1, budget: 10, scores: map[run]replay.Score{}}
	if err := l.learn(&out, tables); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"present", "usual fits 0.8 ", "left out", "best on all: "} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("no %q in\n%s", want, out.String())
		}
	}
	if _, err := load([]string{"absent.csv"}, 0, 1); err == nil {
		t.Error("a table that is not there is passed over")
	}
}
