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

// Left out is what is scored: a setting that is best on the others is chosen
// whatever it does on the kind left out.
func TestBestLeavesOut(t *testing.T) {
	losses := []map[string]float64{{"a": 1, "b": 1, "c": 1}, {"a": 9, "b": 0.5, "c": 0.9}}
	kinds := []string{"a", "b", "c"}
	if got := best(kinds, losses, "a"); got != 1 {
		t.Errorf("without a setting %d is best, want 1", got)
	}
	if got := best(kinds, losses, ""); got != 0 {
		t.Errorf("on all setting %d is best, want 0", got)
	}
}

// Every setting but the present differs from it in one constant.
func TestSettingsDifferInOneConstant(t *testing.T) {
	now := bayesopt.LearnedConstants()
	for _, s := range settings()[1:] {
		if s.Constants == now {
			t.Errorf("%s is the present setting", s.name)
		}
	}
}

// A search that ends sooner, better and without failures has a smaller loss.
func TestLoss(t *testing.T) {
	good := replay.Score{Evals: 5, StopEvals: 8, StopWithin5: 1}
	for _, worse := range []replay.Score{{Evals: 6, StopEvals: 8, StopWithin5: 1}, {Evals: 5, StopEvals: 12, StopWithin5: 1},
		{Evals: 5, StopEvals: 8, StopWithin5: 0.9}, {Evals: 5, StopEvals: 8, StopWithin5: 1, Failed: 0.1}} {
		if loss(worse) <= loss(good) {
			t.Errorf("loss of %+v is %g, of %+v %g", worse, loss(worse), good, loss(good))
		}
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
	var out strings.Builder
	if err := run(&out, files, 1, 0, 1); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"present", "failure cost 0 ", "left out", "best on all: "} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("no %q in\n%s", want, out.String())
		}
	}
	if err := run(&out, []string{"absent.csv"}, 1, 0, 1); err == nil {
		t.Error("a table that is not there is passed over")
	}
}
