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

// What is chosen for the rest does not depend on what is left out.
func TestChooseLeavesOut(t *testing.T) {
	now := bayesopt.LearnedConstants()
	tables := []*replay.Table{{Name: "a", Kind: "a"}, {Name: "b", Kind: "b"}}
	l := &learner{seeds: 1, cache: map[string]*run{}}
	for _, k := range knobs() {
		for _, c := range append(k.settings(now), now) {
			for _, t := range tables {
				r := &run{Setting: c, Table: t.Name, Ratio: []float64{2, 2, 2, 1}, Stop: 4, Found: 1}
				if c.LengthSD != now.LengthSD && t.Name == "a" {
					r.Ratio = []float64{1, 1, 1, 1} // better there, and there alone
				}
				l.cache[r.key()] = r
			}
		}
	}
	folds := foldsOf(tables)
	if c := l.choose(now, folds[0].rest(tables)); c != now {
		t.Errorf("without table a: %s, want the present constants", describe(now, c))
	}
	if c := l.choose(now, folds[1].rest(tables)); c.LengthSD == now.LengthSD {
		t.Errorf("without table b: %s, want another length sd", describe(now, c))
	}
}

// A search that ends sooner, better and without failures has a smaller loss.
func TestLoss(t *testing.T) {
	good := run{Ratio: []float64{2, 2, 1, 1, 1}, Stop: 3, Found: 1}
	for name, worse := range map[string]run{
		"found later":      {Ratio: []float64{2, 2, 2, 1, 1}, Stop: 3, Found: 1},
		"stopped later":    {Ratio: good.Ratio, Stop: 4, Found: 1},
		"stopped too soon": {Ratio: good.Ratio, Stop: 2, Found: 2},
		"failures":         {Ratio: good.Ratio, Stop: 3, Found: 1, Failed: .2},
	} {
		if worse.score().loss <= good.score().loss {
			t.Errorf("%s: loss %g, want more than %g", name, worse.score().loss, good.score().loss)
		}
	}
	if s := good.score(); s.evals != 3 || s.stop != 3 || s.within != 1 {
		t.Errorf("%+v, want 3 evaluations and a good end after 3", s)
	}
}

// The program prints every setting, and what leaving out a kind comes to.
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
	cache := filepath.Join(t.TempDir(), "runs.jsonl")
	var first, again strings.Builder
	for _, out := range []*strings.Builder{&first, &again} {
		if err := learn(out, tables, 1, cache); err != nil {
			t.Fatal(err)
		}
	}
	for _, want := range []string{"present", "usual fits 0.8 ", "left out", "best on all: "} {
		if !strings.Contains(first.String(), want) {
			t.Errorf("no %q in\n%s", want, first.String())
		}
	}
	if first.String() != again.String() {
		t.Errorf("from the cache:\n%s\nwant\n%s", again.String(), first.String())
	}
	if _, err := load([]string{"absent.csv"}, 0, 1); err == nil {
		t.Error("a table that is not there is passed over")
	}
}
