package plan

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"knee/allocate"
	"knee/allocate/objective"
	"knee/allocate/solve"
	"knee/data"
	"knee/predict"

	"pgregory.net/rapid"
)

// law is an oracle of known speed: one worker processes rate samples/s,
// w workers on n nodes rate · w^power · 0.9^(n−1), and efficiency is 1.
// With servers, too few of them slow the workers down.
type law struct {
	rates   map[string]float64
	power   float64
	modes   []data.Mode
	samples float64 // left
	maxSeen int     // workers measured; beyond that is extrapolation
	price   float64 // US$ per worker-hour
	uneven  float64 // share by which it is faster where nodes have unequal workers
}

func (l law) At(c data.Config) (predict.Answer, error) {
	rate, ok := l.rates[c.GPUType]
	if !ok {
		return predict.Answer{}, fmt.Errorf("no measurement on %s", c.GPUType)
	}
	g := rate * math.Pow(float64(c.Workers), l.power) * math.Pow(0.9, float64(c.NodeCount()-1))
	if len(c.Placement) > 0 && slices.Max(c.Placement) > slices.Min(c.Placement) {
		g *= 1 + l.uneven
	}
	if c.Mode.UsesPS() {
		g *= float64(c.PS) / (float64(c.PS) + 0.3*float64(c.Workers))
	}
	e := data.Estimate{Mean: g, Lo: 0.9 * g, Hi: 1.1 * g}
	a := predict.Answer{Config: c, Throughput: e, Goodput: e, PricePerHour: l.price * float64(c.Workers)}
	a.StepTime = e.Per(c.GlobalBatch())
	if l.maxSeen > 0 && c.Workers > l.maxSeen {
		a.Extrapolated, a.Why = true, fmt.Sprintf("%d workers, measured up to %d", c.Workers, l.maxSeen)
	}
	if l.samples > 0 {
		a.TimeToTarget = e.Per(l.samples)
		a.CostToTarget = a.TimeToTarget.Scale(math.Max(a.PricePerHour, 1e-12) / 3600)
	}
	return a, nil
}

func (l law) BestBatch(c data.Config) (predict.Answer, error) {
	c.LocalBatch = 64
	return l.At(c)
}

func (l law) GPUTypes() []string {
	var out []string
	for t := range l.rates {
		out = append(out, t)
	}
	slices.Sort(out)
	return out
}

func (l law) Modes(string) []data.Mode { return l.modes }

func t4(power, samples float64) law {
	return law{rates: map[string]float64{"t4": 100}, power: power, samples: samples, price: 1}
}

func named(name string, lo, hi int) data.Job {
	return data.Job{Name: name, Workers: data.IntRange{Min: lo, Max: hi}, Batch: data.Batch{Initial: 64, Adapt: true}, RestartSeconds: 30}
}

func TestPlanOfAnEmptyClusterStartsEveryone(t *testing.T) {
	pr := Problem{Cluster: testCluster(nodes("t4", 4, 4)...), Jobs: []data.Job{named("short", 1, 16), named("long", 1, 16), named("flat", 2, 16)}, Seed: 7}
	oracles := []oracle{t4(0.8, 1e5), t4(0.8, 1e7), t4(0.1, 1e6)}
	plan, err := solveWith(pr, oracles, nil)
	if err != nil {
		t.Fatal(err)
	}
	checkPlan(t, pr, plan)
	by := map[string]data.PlannedJob{}
	for _, j := range plan.Jobs {
		by[j.Name] = j
		if j.Action != data.Start || j.Reason == "" {
			t.Errorf("%s: action %s, reason %q", j.Name, j.Action, j.Reason)
		}
	}
	if by["short"].Workers <= by["long"].Workers || by["flat"].Workers != 2 {
		t.Errorf("workers short %d, long %d, flat %d: want the short job ahead of the long, the flat one at its minimum",
			by["short"].Workers, by["long"].Workers, by["flat"].Workers)
	}
	if plan.Utilization.GPUsUsed != 16 || plan.Gap < 0 || plan.Gap > 0.05 {
		t.Errorf("uses %d of 16 GPUs, gap %g", plan.Utilization.GPUsUsed, plan.Gap)
	}
	even, err := solveWith(pr, oracles, allocate.PolicyFunc(solve.Even))
	if err != nil {
		t.Fatal(err)
	}
	checkPlan(t, pr, even)
	if even.Value >= plan.Value || even.Bound < plan.Value-1e-9 {
		t.Errorf("even split %g (bound %g), marginal gain %g", even.Value, even.Bound, plan.Value)
	}
	if _, err := json.Marshal(plan); err != nil {
		t.Errorf("plan is not JSON: %v", err)
	}
}

// checkPlan asserts what holds for every plan.
func checkPlan(t rapid.TB, pr Problem, plan *data.Plan) {
	t.Helper()
	used := map[string]int{}
	cpus := map[string]float64{}
	for i, j := range plan.Jobs {
		job := pr.Jobs[i]
		if !j.Action.Runs() {
			if j.Workers != 0 || j.Reason == "" {
				t.Fatalf("%s is paused with %d workers, reason %q", j.Name, j.Workers, j.Reason)
			}
			continue
		}
		if j.Workers < job.Workers.Min || job.Workers.Max > 0 && j.Workers > job.Workers.Max {
			t.Fatalf("%s gets %d workers, outside %+v", j.Name, j.Workers, job.Workers)
		}
		w, ps := 0, 0
		for _, s := range j.Placement {
			used[s.Node] += s.Workers
			cpus[s.Node] += float64(s.Workers)*job.Resources.Worker.CPUs + float64(s.PS)*job.Resources.PS.CPUs
			w, ps = w+s.Workers, ps+s.PS
		}
		if w != j.Workers || ps != j.PS {
			t.Fatalf("%s: placement %v holds %d workers and %d ps, want %d and %d", j.Name, j.Placement, w, ps, j.Workers, j.PS)
		}
	}
	for _, tenant := range pr.Tenants {
		has := map[string]int{}
		for i, j := range plan.Jobs {
			if pr.Jobs[i].Tenant == tenant.Name {
				has[j.GPUType] += j.Workers
			}
		}
		for gpuType, most := range tenant.Quota {
			if has[gpuType] > most {
				t.Fatalf("tenant %s has %d %s, quota %d", tenant.Name, has[gpuType], gpuType, most)
			}
		}
	}
	total := 0
	for _, n := range pr.Cluster.Nodes {
		if used[n.Name] > n.GPUs || n.Drained && used[n.Name] > 0 || n.CPUs > 0 && cpus[n.Name] > n.CPUs+1e-9 {
			t.Fatalf("node %+v holds %d workers and %g cores", n, used[n.Name], cpus[n.Name])
		}
		total += used[n.Name]
	}
	if total != plan.Utilization.GPUsUsed {
		t.Fatalf("nodes hold %d workers, utilization says %d", total, plan.Utilization.GPUsUsed)
	}
	if plan.Value > plan.Bound+1e-9*(1+math.Abs(plan.Bound)) {
		t.Fatalf("value %g above bound %g", plan.Value, plan.Bound)
	}
}

// drawProblem draws a whole problem: node sizes, drained nodes, cores,
// parameter servers.
func drawProblem(t *rapid.T) (Problem, []oracle) {
	c := testCluster(append(nodes("t4", rapid.IntRange(1, 3).Draw(t, "t4"), rapid.IntRange(1, 4).Draw(t, "gpus")), nodes("v100", rapid.IntRange(0, 2).Draw(t, "v100"), 2)...)...)
	if rapid.Bool().Draw(t, "cores") {
		for i := range c.Nodes {
			c.Nodes[i].CPUs = float64(rapid.IntRange(2, 12).Draw(t, "cpus"))
		}
	}
	c.Nodes[0].Drained = len(c.Nodes) > 1 && rapid.Bool().Draw(t, "drained")
	pr := Problem{Cluster: c, Objective: rapid.SampledFrom(objective.Names()).Draw(t, "objective"), Risk: rapid.SampledFrom([]float64{0, 0.5}).Draw(t, "risk")}
	var oracles []oracle
	for i := range rapid.IntRange(1, 5).Draw(t, "jobs") {
		j := named(fmt.Sprint("j", i), rapid.IntRange(1, 3).Draw(t, "min"), rapid.IntRange(3, 8).Draw(t, "max"))
		j.Resources = data.Resources{Worker: data.Need{CPUs: 1}, PS: data.Need{CPUs: 1}}
		if rapid.Bool().Draw(t, "late") {
			j.Deadline = time.Hour
		}
		l := law{rates: map[string]float64{"t4": 100, "v100": 300}, power: rapid.Float64Range(0.1, 1).Draw(t, "power"),
			samples: math.Exp(rapid.Float64Range(8, 18).Draw(t, "log samples")), price: 1}
		if rapid.Bool().Draw(t, "ps") {
			l.modes = []data.Mode{data.PSSync}
		}
		pr.Jobs, oracles = append(pr.Jobs, j), append(oracles, l)
	}
	return pr, oracles
}

// TestPlansAreSound draws problems and plans again on the outcome, which must
// change nothing.
func TestPlansAreSound(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		pr, oracles := drawProblem(t)
		if pr.EqualNodes = rapid.Bool().Draw(t, "equal nodes"); pr.EqualNodes {
			for i := range pr.Jobs {
				pr.Jobs[i].Current = nil // which may stand unequally
			}
		}
		if rapid.Bool().Draw(t, "quotas") {
			pr.Tenants = []data.Tenant{{Name: "lab", Quota: map[string]int{"t4": rapid.IntRange(0, 8).Draw(t, "quota")}}}
			for i := range pr.Jobs {
				pr.Jobs[i].Tenant = rapid.SampledFrom([]string{"", "lab"}).Draw(t, "tenant")
			}
		}
		plan, err := solveWith(pr, oracles, nil)
		var none *Infeasible
		if errors.As(err, &none) {
			return
		}
		if err != nil {
			t.Fatal(err)
		}
		checkPlan(t, pr, plan)
		for _, j := range plan.Jobs {
			for _, s := range j.Placement {
				if pr.EqualNodes && s.Workers != j.Placement[0].Workers && s.Workers > 0 {
					t.Fatalf("job %s stands unequally: %v", j.Name, j.Placement)
				}
			}
		}
		adopt(&pr, plan)
		again, err := solveWith(pr, oracles, nil)
		if err != nil {
			t.Fatal(err)
		}
		checkPlan(t, pr, again)
		for i, j := range again.Jobs {
			if was := plan.Jobs[i]; j.Action != data.Keep && (j.Action.Runs() || was.Action.Runs()) {
				t.Fatalf("planned again, job %s is to %s: %+v, had %+v; value %.17g, was %.17g", j.Name, j.Action, j, was, again.Value, plan.Value)
			}
			if j.Action == data.Keep && strings.Contains(strings.Join(j.Warnings, " "), "no nodes are free") {
				t.Fatalf("job %s stays where it is, and is told that nodes are taken: %q", j.Name, j.Warnings)
			}
		}
	})
}

// adopt makes a plan what runs now.
func adopt(pr *Problem, plan *data.Plan) {
	for i, p := range plan.Jobs {
		if !p.Action.Runs() {
			pr.Jobs[i].Current = nil
			continue
		}
		pr.Jobs[i].Current = data.Running(p.Config(), p.Placement)
	}
}

func TestActionsAndWarnings(t *testing.T) {
	pr := Problem{Cluster: testCluster(nodes("t4", 2, 4)...), Jobs: []data.Job{named("a", 1, 8), named("b", 3, 3), named("huge", 32, 0)}}
	pr.Cluster.Nodes[1].Drained = true
	pr.Jobs[0].Current = &data.Current{GPUType: "t4", Placement: data.Placement{4}, Nodes: []string{"t42"}}
	a, b := t4(0.9, 1e6), t4(0.9, 1e5)
	b.maxSeen = 2
	plan, err := solveWith(pr, []oracle{a, b, t4(1, 1e6)}, nil)
	if err != nil {
		t.Fatal(err)
	}
	checkPlan(t, pr, plan)
	var got []string
	for _, j := range plan.Jobs {
		got = append(got, fmt.Sprint(j.Name, " ", j.Action, " ", j.Workers))
	}
	if want := []string{"a shrink 1", "b start 3", "huge wait 0"}; !slices.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
	text := strings.Join(plan.Warnings, "\n")
	for _, want := range []string{`job "a": runs on node "t42", which is drained`, `job "b": the speed of 3 × t4`, "worth profiling", `job "huge": wants at least 32 workers on t4, where no more than 4 fit`} {
		if !strings.Contains(text, want) {
			t.Errorf("warnings lack %q:\n%s", want, text)
		}
	}
}

func TestNothingFits(t *testing.T) {
	pr := Problem{Cluster: testCluster(nodes("t4", 1, 4)...), Jobs: []data.Job{named("huge", 32, 0)}}
	_, err := solveWith(pr, []oracle{t4(1, 1)}, nil)
	var none *Infeasible
	if !errors.As(err, &none) || !strings.Contains(err.Error(), "lower workers.min to 4") {
		t.Errorf("error %v", err)
	}
}

func TestProblemErrors(t *testing.T) {
	c := testCluster(nodes("t4", 1, 4)...)
	for _, tt := range []struct {
		pr   Problem
		want string
	}{
		{Problem{Cluster: c}, "there are no jobs"},
		{Problem{Jobs: []data.Job{named("a", 1, 1)}}, "no nodes"},
		{Problem{Cluster: c, Objective: "joy", Jobs: []data.Job{named("a", 1, 1)}}, `objective "joy" is unknown; want one of cost, deadline, fairness, goodput, jct, saved-time`},
		{Problem{Cluster: c, Jobs: []data.Job{named("a", 1, 1), named("a", 1, 1)}}, `"a" a second time`},
		{Problem{Cluster: c, Jobs: []data.Job{named("a", 3, 2)}}, "min 3, max 2"},
		{Problem{Cluster: c, Jobs: []data.Job{named("a", 1, 1)}, Tenants: []data.Tenant{{Name: "lab", Quota: map[string]int{"t4": 2}}, {Name: "lab"}}}, `"lab" a second time`},
		{Problem{Cluster: c, Risk: 2, Jobs: []data.Job{named("a", 1, 1)}}, "risk 2"},
	} {
		_, err := solveWith(tt.pr, []oracle{t4(1, 1), t4(1, 1)}, nil)
		if err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("error %v, want %s", err, tt.want)
		}
	}
	if _, err := Solve(Problem{Cluster: c, Jobs: []data.Job{named("a", 1, 1)}}, nil); err == nil || !strings.Contains(err.Error(), "it has no fitted model") {
		t.Errorf("missing predictor: %v", err)
	}
}

// TestSecondsAreOfTheFirstTypeOfAJob: the smallest allocation, at whose speed seconds left
// are counted, is on the first GPU type that the job names, whatever the order of nodes.
func TestSecondsAreOfTheFirstTypeOfAJob(t *testing.T) {
	o := law{rates: map[string]float64{"a100": 400, "t4": 100}, power: 0.9}
	job := named("a", 2, 4)
	for _, types := range [][]string{{"a100", "t4"}, {"t4", "a100"}} {
		job.GPUTypes = types
		all := tables{at: map[tableKey]*table{}}
		x := all.add(0, job, o, newClusterFit(testCluster(append(nodes("t4", 1, 4), nodes("a100", 1, 4)...)...)))
		all.fill()
		if a, err := x.smallest(); err != nil || a.Config.GPUType != types[0] || a.Config.Workers != 2 {
			t.Errorf("of %v: %s, %v, want two workers on the first", types, a.Config, err)
		}
	}
}

func TestGoal(t *testing.T) {
	twoWorkers, err := t4(0.5, 0).At(data.Config{GPUType: "t4", Workers: 2, Nodes: 1})
	if err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		r    data.Remaining
		want predict.Goal
	}{
		{data.Remaining{Steps: 5}, predict.Goal{Steps: 5}},
		{data.Remaining{HasTarget: true, TargetLoss: 0}, predict.Goal{HasTarget: true}},
		{data.Remaining{Epochs: 2, Dataset: 100}, predict.Goal{Samples: 200}},
		{data.Remaining{Seconds: 10}, predict.Goal{Samples: 10 * 100 * math.Sqrt2}},
		{data.Remaining{}, predict.Goal{}},
	} {
		j := named("a", 2, 4)
		j.Remaining = tt.r
		g, err := goalOf(j, twoWorkers, t4(0.5, 0))
		if err != nil || math.Abs(g.Samples-tt.want.Samples) > 1e-9 {
			t.Errorf("%+v: %+v, %v", tt.r, g, err)
		}
		g.Samples = tt.want.Samples
		if g != tt.want {
			t.Errorf("%+v: %+v, want %+v", tt.r, g, tt.want)
		}
	}
	j := named("a", 1, 4)
	j.Remaining.Seconds = 10
	j.Current = &data.Current{GPUType: "t4", Placement: data.Placement{4}, LocalBatch: 16}
	if g, err := goalOf(j, twoWorkers, t4(0.5, 0)); err != nil || math.Abs(g.Samples-2000) > 1e-9 {
		t.Errorf("seconds at the current 4 workers: %+v, %v, want 2000 samples", g, err)
	}
	j.Remaining = data.Remaining{Epochs: 3}
	if _, err := goalOf(j, twoWorkers, t4(1, 0)); err == nil || !strings.Contains(err.Error(), "remaining.dataset") {
		t.Errorf("epochs without data set: %v", err)
	}
}

// TestLateByARestart: 4 GPUs would meet the deadline, but the restart to get them takes too long.
func TestLateByARestart(t *testing.T) {
	job := named("a", 4, 4)
	job.Current = &data.Current{GPUType: "t4", Placement: data.Placement{2}, Nodes: []string{"t41"}}
	job.Deadline, job.RestartSeconds = time.Hour, 600
	for samples, want := range map[float64]string{4 * 100 * 3500: "miss its deadline of 1h0m0s by 8m20s", 4 * 100 * 2900: ""} {
		plan, err := solveWith(Problem{Cluster: testCluster(nodes("t4", 1, 4)...), Jobs: []data.Job{job}}, []oracle{t4(1, samples)}, nil)
		if err != nil {
			t.Fatal(err)
		}
		if got := strings.Join(plan.Warnings, "; "); (want == "") != (got == "") || !strings.Contains(got, want) {
			t.Errorf("warnings %q of a job that ends in %g s, want %q", got, plan.Jobs[0].Finish.Mean, want)
		}
	}
}

// TestNodesOfDifferentPrices: costs are of the mean, which the plan says.
func TestNodesOfDifferentPrices(t *testing.T) {
	c := testCluster(nodes("t4", 2, 4)...)
	c.Nodes[0].PricePerHour = 4
	for _, dear := range []float64{4.02, 40} {
		c.Nodes[1].PricePerHour = dear
		plan, err := solveWith(Problem{Cluster: c, Jobs: []data.Job{named("a", 1, 4)}}, []oracle{t4(1, 1e6)}, nil)
		if err != nil {
			t.Fatal(err)
		}
		if got := strings.Join(plan.Warnings, "; "); strings.Contains(got, "t4 costs $1 to $10 an hour") != (dear == 40) {
			t.Errorf("$%g: warnings %q", dear, got)
		}
	}
}

// What one GPU more adds is the difference between two plans, also where it is the one
// that lets a job in, and in the unit of the value, whatever the objective.
func TestOneMoreGPU(t *testing.T) {
	jobs, oracles := []data.Job{named("big", 4, 4), named("small", 1, 1)}, []oracle{t4(.9, 1e6), t4(.9, 1e5)}
	for _, objective := range []string{"jct", "saved-time", "goodput", "fairness"} {
		of := func(gpus int, resolve bool) *data.Plan {
			plan, err := solveWith(Problem{Cluster: testCluster(nodes("t4", 1, gpus)...), Jobs: jobs, Objective: objective, Resolve: resolve, FairSlots: 4}, oracles, nil)
			if err != nil {
				t.Fatal(err)
			}
			return plan
		}
		now, more := of(4, true), of(5, false)
		if len(now.Prices) != 1 || now.Prices[0].OneMore == nil {
			t.Fatalf("%s: prices %+v", objective, now.Prices)
		}
		if got, want := *now.Prices[0].OneMore, more.Value-now.Value; !(want > 0) || math.Abs(got/want-1) > 1e-9 {
			t.Errorf("%s: one more GPU adds %g, the plans differ by %g", objective, got, want)
		}
	}
}

// A fixed batch that the workers of a job cannot share in whole samples is rounded up,
// which is said.
func TestRoundedBatchIsSaid(t *testing.T) {
	job := named("a", 3, 3)
	job.Batch = data.Batch{Initial: 64}
	pr := Problem{Cluster: testCluster(nodes("t4", 1, 4)...), Jobs: []data.Job{job}}
	plan, err := solveWith(pr, []oracle{t4(0.9, 1e6)}, nil)
	if err != nil || plan.Jobs[0].LocalBatch != 22 || !slices.ContainsFunc(plan.Warnings, func(w string) bool { return strings.Contains(w, "66 samples a step, not the 64 of its batch") }) {
		t.Errorf("%+v, %v", plan, err)
	}
}

// A job that has to leave a drained node does not take the place of one that runs
// elsewhere, whatever their order.
func TestDrainedJobsTakeNoPlace(t *testing.T) {
	for _, order := range [][]string{{"t41", "t42"}, {"t42", "t41"}} {
		pr := Problem{Cluster: testCluster(nodes("t4", 2, 4)...)}
		pr.Cluster.Nodes[0].Drained = true
		for _, node := range order {
			job := named("on "+node, 4, 4)
			job.Current = &data.Current{GPUType: "t4", Placement: data.Placement{4}, Nodes: []string{node}, LocalBatch: 64}
			pr.Jobs = append(pr.Jobs, job)
		}
		plan, err := solveWith(pr, []oracle{t4(0.9, 1e6), t4(0.9, 1e6)}, nil)
		if err != nil {
			t.Fatal(err)
		}
		for _, j := range plan.Jobs {
			if want := map[string]data.Action{"on t41": data.Pause, "on t42": data.Keep}[j.Name]; j.Action != want {
				t.Errorf("%v: %s is to %s, want %s", order, j.Name, j.Action, want)
			}
		}
	}
}

// TestMoreNodesKeepTheFairShare: nodes that are added change no fair share, and have names
// of their own.
func TestMoreNodesKeepTheFairShare(t *testing.T) {
	pr := Problem{Cluster: testCluster(nodes("t4", 2, 4)...)}
	if more, err := pr.WithMore(nodes("v100", 1, 4)); err != nil || more.FairSlots != 8 || more.Cluster.Slots() != 12 {
		t.Errorf("fair share of %d slots of %d, %v, want 8 of 12", more.FairSlots, more.Cluster.Slots(), err)
	}
	if _, err := pr.WithMore(nodes("t4", 1, 4)); err == nil || !strings.Contains(err.Error(), `found "t41", as in the cluster`) {
		t.Errorf("error %v", err)
	}
}

// A job gets only nodes that it may use, although others are free; one that they cannot
// hold is not planned.
func TestJobsKeepToTheirNodes(t *testing.T) {
	c := testCluster(nodes("t4", 3, 4)...)
	a, b, wide := named("a", 1, 8), named("b", 1, 8), named("wide", 8, 8)
	a.Nodes, wide.Nodes = []string{c.Nodes[1].Name, "misspelt"}, []string{c.Nodes[1].Name}
	plan, err := solveWith(Problem{Cluster: c, Jobs: []data.Job{a, b, wide}}, []oracle{t4(0.9, 1e6), t4(0.9, 1e6), t4(0.9, 1e6)}, nil)
	if err != nil {
		t.Fatal(err)
	}
	if got := plan.Jobs[0].Placement; len(got) != 1 || got[0].Node != c.Nodes[1].Name {
		t.Errorf("placed on %+v, want on %s", got, c.Nodes[1].Name)
	}
	if got := strings.Join(plan.Jobs[0].Warnings, "; "); !strings.Contains(got, `node "misspelt", which the cluster does not have`) {
		t.Errorf("warnings %q", got)
	}
	if got := plan.Jobs[1].Placement; len(got) != 2 {
		t.Errorf("the other job is on %+v, want on the other two nodes", got)
	}
	if !plan.Jobs[2].Unplanned || !strings.Contains(plan.Jobs[2].Reason, "on t4 of the 1 node that it may use, where no more than 4 fit") {
		t.Errorf("%+v", plan.Jobs[2])
	}
}
