package replay

import (
	"context"
	"errors"
	"math"
	"strings"
	"testing"

	"knee/bayesopt"
	"knee/data"
)

const sample = `machines,vm_name,vcpus,ram_gib,price_per_hour,time_s,cost_usd,status
2,small,4,8,0.5,400,0.111111,ok
4,small,4,8,0.5,220,0.122222,ok
8,small,4,8,0.5,90,0.1,ok
2,large,16,64,2,100,0.111111,ok
4,large,16,64,2,50,0.111111,ok
8,large,16,64,2,20,0.5,failed
`

func read(t *testing.T, text string) *Table {
	t.Helper()
	table, err := ReadTable(strings.NewReader(text), "t.csv")
	if err != nil {
		t.Fatal(err)
	}
	return table
}

func TestReadTable(t *testing.T) {
	table := read(t, sample)
	if len(table.Candidates) != 6 || table.Name != "t" {
		t.Fatalf("%d candidates of %q", len(table.Candidates), table.Name)
	}
	c, o := table.Candidates[3], table.Outcomes[3]
	if c.Workers != 2 || c.Extra["vcpus"] != "16" || o.Hourly != 4 || o.Time != 100 {
		t.Errorf("row 4 = %+v, %+v", c, o)
	}
	if _, ok := c.Extra["vm_name"]; ok {
		t.Error("a name that follows from cores and memory became a knob")
	}
	if got := table.Optimum(Goal{}); got != 0.1 {
		t.Errorf("cheapest = %g, want 0.1", got)
	}
	if got := table.Optimum(Goal{Time: true}); got != 50 {
		t.Errorf("fastest = %g, want 50: a failed row is no optimum", got)
	}
	// An infeasible row with a time was stopped at a limit; one without never
	// ran.
	stopped := read(t, "machines,time_s,status\n1,600,infeasible\n2,,infeasible\n3,50,ok\n")
	if a, b := stopped.Outcomes[0].Status, stopped.Outcomes[1].Status; a != data.Timeout || b != data.Infeasible {
		t.Errorf("infeasible after 600 s is read as %s, after no time as %s", a, b)
	}
	// The text column is a knob if the numbers do not determine it.
	free := read(t, "machines,disk,time_s,status\n1,fast,1,ok\n1,slow,2,ok\n")
	if free.Candidates[0].Extra["disk"] != "fast" {
		t.Error("a text column that numbers do not explain was dropped")
	}
}

func TestReadTableRefuses(t *testing.T) {
	for text, want := range map[string]string{
		"machines,status\n1,ok\n":                    "t.csv:1:time_s",
		"machines,time_s,status\n":                   "no rows",
		"machines,time_s,status\n1,soon,ok\n":        `t.csv:2:time_s: found "soon"`,
		"machines,time_s,status\n1,1,ok\n1,2,ok\n":   "t.csv:3: found the parameters of line 2 again",
		"machines,time_s,status\n1,,ok\n":            "t.csv:2:time_s: found nothing",
		"machines,time_s,status\n1,1,ok\n1,2,ok,x\n": "t.csv",
	} {
		if _, err := ReadTable(strings.NewReader(text), "t.csv"); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: err = %v, want …%s…", text, err, want)
		}
	}
}

func FuzzReadTable(f *testing.F) {
	f.Add(sample)
	f.Add("workers,time_s,status\n1,2,ok\n")
	f.Fuzz(func(t *testing.T, text string) {
		table, err := ReadTable(strings.NewReader(text), "fuzz.csv")
		if err == nil && len(table.Candidates) != len(table.Outcomes) {
			t.Error("candidates without outcomes")
		}
	})
}

// inOrder suggests one row after another, holds the third for the best, and
// stops after three.
type inOrder struct{}

func (inOrder) Next(h bayesopt.History) (bayesopt.Suggestion, error) {
	n := len(h.Measured)
	if n == len(h.Candidates) {
		return bayesopt.Suggestion{Stop: true, Index: -1, Best: 2}, nil
	}
	return bayesopt.Suggestion{Index: n, Config: h.Candidates[n], Best: min(n-1, 2), Fired: map[bool]string{true: "enough"}[n >= 3]}, nil
}

func TestSearchAndAverage(t *testing.T) {
	table := read(t, sample)
	tr, err := table.Search(inOrder{}, Goal{}, 6, 1)
	if err != nil {
		t.Fatal(err)
	}
	s := Score{Seeds: 1, Traces: []Trace{tr}}
	s.average(6)
	// The third row is the cheapest; by then 0.3333 is spent.
	if s.Evals != 3 || math.Abs(s.Cost-3.33333) > 1e-3 || s.StopEvals != 3 || s.StopWithin5 != 1 {
		t.Errorf("score = %+v", s)
	}
	if s.Regret5 != 0 || s.Regret20 != 0 {
		t.Errorf("regret after 5 = %g, want 0", s.Regret5)
	}
}

// The measurement of a row gives its cost exactly.
func TestMeasurementGivesTheCost(t *testing.T) {
	table := read(t, sample)
	for i, o := range table.Outcomes {
		m := table.measurement(i, Goal{}, 1, 1)
		if o.Status == data.OK && math.Abs(m.StepTime*o.Hourly/3600-o.Cost) > 1e-9 {
			t.Errorf("row %d costs %g, told %g", i, o.Cost, m.StepTime*o.Hourly/3600)
		}
		if o.Status != data.OK && m.StepTime != 0 {
			t.Errorf("row %d failed and has a time", i)
		}
	}
	a, b := table.measurement(0, Goal{Noise: .1}, 1, 1), table.measurement(0, Goal{Noise: .1}, 1, 1)
	if a.StepTime != b.StepTime ||
		a.StepTime == table.measurement(0, Goal{Noise: .1}, 1, 2).StepTime || a.StepTime == table.measurement(0, Goal{Noise: .1}, 2, 1).StepTime {
		t.Error("noise must depend on seed, row and look, and on nothing else")
	}
}

func TestTry(t *testing.T) {
	table := read(t, sample)
	for _, method := range []string{"random", "guided"} {
		s, err := table.Try(t.Context(), method, Goal{}, 6, 4)
		if err != nil {
			t.Fatal(err)
		}
		if s.Seeds != 4 || s.Evals < 1 || s.Evals > 7 || s.Regret20 != 0 {
			t.Errorf("%s: %+v", method, s)
		}
	}
	if _, err := table.Try(t.Context(), "oracle", Goal{}, 6, 2); err == nil || !strings.Contains(err.Error(), "oracle") {
		t.Errorf("err = %v, want the unknown method named", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := table.Try(ctx, "random", Goal{}, 6, 2); !errors.Is(err, context.Canceled) {
		t.Errorf("err = %v, want the search to end with the context", err)
	}
}
