package plan

import (
	"math"
	"testing"

	"knee/allocate"
	"knee/data"
	"knee/predict"

	"pgregory.net/rapid"
)

// On one node the steps of a job that scales by a power fall, and where marginal gains
// decide, no step that was not given gains more than one that was.
func TestStaircasesStopWhereThePlanStops(t *testing.T) {
	pr := Problem{Cluster: testCluster(nodes("t4", 1, 16)...), Jobs: []data.Job{named("steep", 1, 16), named("flat", 2, 16)}}
	p, err := prepare(pr, []oracle{t4(0.8, 1e6), t4(0.3, 1e6)})
	if err != nil {
		t.Fatal(err)
	}
	plan, err := p.run(nil)
	if err != nil {
		t.Fatal(err)
	}
	all, err := p.staircases(plan)
	if err != nil {
		t.Fatal(err)
	}
	worst, next := math.Inf(1), math.Inf(-1)
	for i, s := range all {
		if s.Job != pr.Jobs[i].Name || s.Workers != plan.Jobs[i].Workers || s.Least != max(1, pr.Jobs[i].Workers.Min) {
			t.Errorf("staircase %d is of %s from %d with %d workers; want that of %s with %d", i, s.Job, s.Least, s.Workers, pr.Jobs[i].Name, plan.Jobs[i].Workers)
		}
		for _, st := range s.Steps {
			if st.Given != (st.To <= s.Workers) {
				t.Errorf("%s: step %d to %d is given: %v, the plan gives %d", s.Job, st.From, st.To, st.Given, s.Workers)
			}
			if st.Given {
				worst = min(worst, st.Gain)
			} else {
				next = max(next, st.Gain)
			}
		}
	}
	if len(all) != 2 || all[0].Workers <= all[1].Workers || next > worst {
		t.Errorf("the least that a given step gains is %g, the most of the others %g: %+v", worst, next, all)
	}
	plan.Jobs[0].Name = "nobody"
	if _, err := p.staircases(plan); err == nil {
		t.Error("a job that is not there was given a staircase")
	}
}

// Steps follow each other, never rise, and add up to what lies between the
// ends.
func TestStepsAreAnEnvelope(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var options []*allocate.Option
		for n := range rapid.IntRange(1, 12).Draw(t, "options") {
			c := data.Config{GPUType: "t4", Workers: 2*n + 1}
			options = append(options, &allocate.Option{Answer: predict.Answer{Config: c}, Value: rapid.Float64Range(-5, 5).Draw(t, "value"), Use: allocate.UseOf(c, data.Resources{})})
		}
		last := len(options) - 1
		sum := 0.0
		all := steps(options, true)
		for i, s := range all {
			sum += s.Gain * float64(s.To-s.From)
			if i > 0 && (s.From != all[i-1].To || s.Gain > all[i-1].Gain+1e-9) {
				t.Fatalf("step %+v after %+v", s, all[i-1])
			}
		}
		if want := options[last].Value - options[0].Value; math.Abs(sum-want) > 1e-9 {
			t.Fatalf("the steps add up to %g, want %g", sum, want)
		}
	})
}
