package plan

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"knee/allocate"
	"knee/data"
	"knee/predict"

	"pgregory.net/rapid"
)

// broken is an oracle that answers nothing.
type broken struct{ law }

func (broken) At(data.Config) (predict.Answer, error) {
	return predict.Answer{}, errors.New("no answer")
}
func (broken) BestBatch(data.Config) (predict.Answer, error) {
	return predict.Answer{}, errors.New("no answer")
}

// TestOneJobAlone: a running job without a model, one whose model fails and
// one that is unknown to the cluster concern themselves; the others are planned
// with what they leave.
func TestOneJobAlone(t *testing.T) {
	on := func(node string, w int) *data.Current {
		return &data.Current{GPUType: "t4", Placement: data.Placement{w}, Nodes: []string{node}, LocalBatch: 64}
	}
	pr := Problem{Cluster: testCluster(nodes("t4", 4, 4)...), Jobs: []data.Job{
		named("notebook", 1, 4), named("fails", 1, 8), named("lost", 1, 4), named("huge", 99, 0), named("fine", 1, 16), named("idle", 1, 4)}}
	pr.Jobs[0].Current, pr.Jobs[1].Current, pr.Jobs[2].Current = on("t41", 3), on("t42", 4), on("gone", 2)
	oracles := []oracle{nil, broken{t4(1, 1)}, t4(0.9, 1e6), t4(0.9, 1e6), t4(0.9, 1e6), broken{t4(1, 1)}}
	made, err := solveWith(pr, oracles, nil)
	if err != nil {
		t.Fatal(err)
	}
	checkPlan(t, pr, made)
	want := []data.Action{data.Keep, data.Keep, data.Start, data.Wait, data.Start, data.Wait}
	var got []data.Action
	for _, j := range made.Jobs {
		got = append(got, j.Action)
	}
	if !slices.Equal(got, want) {
		t.Fatalf("actions %v, want %v", got, want)
	}
	if j := made.Jobs[0]; j.Workers != 3 || j.Placement[0].Node != "t41" || !strings.Contains(j.Reason, "no fitted model") {
		t.Errorf("without a model: %+v", j)
	}
	if j := made.Jobs[1]; j.Workers != 4 || !strings.Contains(j.Reason, "no answer") {
		t.Errorf("of a model that fails: %+v", j)
	}
	if w := made.Jobs[2].Warnings; len(w) == 0 || !strings.Contains(w[0], `node "gone"`) {
		t.Errorf("lost: %q", w)
	}
	if made.Utilization.GPUsUsed != 16 || made.Utilization.GPUsTotal != 16 {
		t.Errorf("utilization %+v", made.Utilization)
	}
	pr.Strict = true
	var none *Infeasible
	if _, err := solveWith(pr, oracles, nil); !errors.As(err, &none) || len(none.Reasons) != 2 {
		t.Errorf("strict: %v", err)
	}
	without, err := pr.WithoutNodes([]string{"t41"})
	if err != nil {
		t.Fatal(err)
	}
	without.Strict = false
	if made, err = solveWith(without, oracles, nil); err != nil {
		t.Fatal(err)
	}
	if j := made.Jobs[0]; j.Action != data.Wait || !strings.Contains(j.Reason, `node "t41", on which it ran, is not in the cluster`) {
		t.Errorf("without a model, its node removed: %+v", j)
	}
}

// TestOccupants: a job without a model counts in the quota of its tenant, and is taken to
// run where no other job does.
func TestOccupants(t *testing.T) {
	on := func(w int, nodes ...string) *data.Current {
		return &data.Current{GPUType: "t4", Placement: data.Placement{w}, Nodes: nodes, LocalBatch: 64}
	}
	for name, tt := range map[string]struct {
		fixed, other, runs *data.Current // of two jobs without a model, and of one with
		quota              int
		workers            int
		action             data.Action
	}{
		"its quota":             {on(3, "t41"), nil, nil, 4, 1, data.Start},
		"none of the quota":     {on(4, "t41"), nil, nil, 4, 0, data.Wait},
		"unknown nodes":         {on(4), nil, on(4, "t41"), 99, 4, data.Keep},
		"unknown, beside known": {on(2), on(3, "t41"), nil, 99, 3, data.Start},
	} {
		pr := Problem{Cluster: testCluster(nodes("t4", 2, 4)...), Jobs: []data.Job{named("fixed", 1, 4), named("other", 1, 4), named("job", 1, 4)},
			Tenants: []data.Tenant{{Name: "ann", Quota: map[string]int{"t4": tt.quota}}}}
		pr.Jobs[0].Current, pr.Jobs[1].Current, pr.Jobs[2].Current = tt.fixed, tt.other, tt.runs
		pr.Jobs[0].Tenant, pr.Jobs[2].Tenant, pr.Jobs[2].RestartSeconds = "ann", "ann", 30
		made, err := solveWith(pr, []oracle{nil, nil, t4(0.9, 1e6)}, nil)
		if err != nil {
			t.Fatal(err)
		}
		used := map[string]int{}
		for _, j := range made.Jobs {
			for _, s := range j.Placement {
				used[s.Node] += s.Workers
			}
		}
		if j := made.Jobs[2]; j.Workers != tt.workers || j.Action != tt.action || max(used["t41"], used["t42"]) > 4 {
			t.Errorf("%s: %s with %d workers, want %s with %d; nodes %v", name, j.Action, j.Workers, tt.action, tt.workers, used)
		}
	}
}

// TestServersOfAnOccupant: they take the cores of the node where they run, which a job
// beside them then lacks.
func TestServersOfAnOccupant(t *testing.T) {
	fixed, o := named("fixed", 1, 4), t4(0.9, 1e6)
	fixed.Current = &data.Current{GPUType: "t4", Mode: data.PSSync, Placement: data.Placement{2}, Nodes: []string{"g"}, PS: 2, PSNodes: []string{"c", "c"}}
	job := named("job", 2, 2)
	o.modes, job.PS = []data.Mode{data.PSSync}, data.IntRange{Min: 1, Max: 1}
	fixed.Resources = data.Resources{Worker: data.Need{CPUs: 2}, PS: data.Need{CPUs: 2}}
	job.Resources = data.Resources{Worker: data.Need{CPUs: 1}, PS: data.Need{CPUs: 2}}
	c := testCluster(data.Node{Name: "g", GPUType: "t4", GPUs: 4, CPUs: 8}, data.Node{Name: "c", GPUType: "cpu", GPUs: 1, CPUs: 4})
	made, err := solveWith(Problem{Cluster: c, Jobs: []data.Job{fixed, job}}, []oracle{nil, o}, nil)
	if err != nil {
		t.Fatal(err)
	}
	for i, want := range []string{"[{g 2 0} {c 0 2}]", "[{g 2 1}]"} {
		if got := fmt.Sprint(made.Jobs[i].Placement); got != want {
			t.Errorf("job %s on %s, want %s", made.Jobs[i].Name, got, want)
		}
	}
}

// TestARunningJobKeepsToItsServers: it gives back those above its limit.
func TestARunningJobKeepsToItsServers(t *testing.T) {
	job, o := named("job", 1, 4), t4(0.9, 1e6)
	o.modes, job.PS, job.RestartSeconds = []data.Mode{data.PSSync}, data.IntRange{Max: 2}, 1e6
	job.Current = &data.Current{GPUType: "t4", Mode: data.PSSync, Placement: data.Placement{4}, Nodes: []string{"t41"}, PS: 4, LocalBatch: 64}
	made, err := solveWith(Problem{Cluster: testCluster(nodes("t4", 1, 4)...), Jobs: []data.Job{job}}, []oracle{o}, nil)
	if err != nil {
		t.Fatal(err)
	}
	if j := made.Jobs[0]; j.PS > 2 {
		t.Errorf("%s with %d servers, want at most 2", j.Action, j.PS)
	}
}

// A job that its quota has no room for waits in every plan: it does not keep one from being
// preferred that starts another job on GPUs of a running one.
func TestAJobBeyondItsQuotaHoldsNobodyBack(t *testing.T) {
	on := func(p data.Placement, nodes ...string) *data.Current {
		return &data.Current{GPUType: "t4", Placement: p, Nodes: nodes, LocalBatch: 64}
	}
	pr := Problem{Cluster: testCluster(nodes("t4", 3, 2)...), Jobs: []data.Job{named("held", 1, 2), named("beyond", 1, 1), named("runs", 1, 4), named("waits", 1, 1)},
		Tenants: []data.Tenant{{Name: "ann", Quota: map[string]int{"t4": 2}}}}
	pr.Jobs[0].Current, pr.Jobs[2].Current = on(data.Placement{2}, "t43"), on(data.Placement{2, 2}, "t41", "t42")
	pr.Jobs[0].Tenant, pr.Jobs[1].Tenant = "ann", "ann"
	made, err := solveWith(pr, []oracle{nil, t4(0.9, 1e6), t4(0.9, 1e4), t4(0.9, 1e8)}, nil)
	if err != nil {
		t.Fatal(err)
	}
	checkPlan(t, pr, made)
	for i, want := range []data.Action{data.Keep, data.Wait, data.Shrink, data.Start} {
		if j := made.Jobs[i]; j.Action != want {
			t.Errorf("%s: %s with %d workers, want %s", j.Name, j.Action, j.Workers, want)
		}
	}
}

// A quota of all types, of which cpu is none, limits nothing where that is the only one; it
// is said.
func TestAQuotaOfGPUsWithoutGPUs(t *testing.T) {
	job := named("a", 1, 4)
	job.Tenant = "ann"
	for gpuType, said := range map[string]bool{"cpu": true, "t4": false} {
		pr := Problem{Cluster: testCluster(nodes(gpuType, 1, 4)...), Jobs: []data.Job{job}, Tenants: []data.Tenant{{Name: "ann", Quota: map[string]int{data.AllTypes: 1}}}}
		made, err := solveWith(pr, []oracle{law{rates: map[string]float64{gpuType: 100}, power: .9}}, nil)
		if err != nil {
			t.Fatal(err)
		}
		if got := strings.Contains(strings.Join(made.Warnings, " "), "quota of tenant ann limits nothing: the cluster has no GPUs, only cpu"); got != said {
			t.Errorf("%s: warnings %q", gpuType, made.Warnings)
		}
	}
}

// A plan has the cores of nodes where jobs need parts of one, if they are limited.
func TestNodeCPUs(t *testing.T) {
	c := testCluster(nodes("t4", 3, 4)...)
	c.Nodes[0].CPUs, c.Nodes[1].CPUs = 2, 4
	on := func(cpus float64, names ...string) (j data.PlannedJob) {
		for _, n := range names {
			j.Placement = append(j.Placement, data.NodeShare{Node: n, Workers: 1})
		}
		j.Resources.WorkerCPUs = cpus
		return j
	}
	if got := nodeCPUs(c, []data.PlannedJob{on(.5, "t41", "t43"), on(1, "t41", "t42")}); len(got) != 1 || got["t41"] != 2 {
		t.Errorf("%v, want two of t41", got)
	}
}

// TestNeedsAreNamed: a policy's input that a job lacks is an error of that
// field of that job.
func TestNeedsAreNamed(t *testing.T) {
	pr := Problem{Cluster: testCluster(nodes("t4", 1, 4)...), Jobs: []data.Job{named("a", 1, 4)}, Policy: "las", Needs: []string{"history.gpu_seconds"}}
	_, err := solveWith(pr, []oracle{t4(0.9, 1e6)}, nil)
	var input *data.InputError
	if !errors.As(err, &input) || input.Column != "history.gpu_seconds" || !strings.Contains(input.Want, "policy las") {
		t.Errorf("error %v", err)
	}
	pr.Jobs[0].History = &data.History{GPUSeconds: new(float64)}
	if _, err := solveWith(pr, []oracle{t4(0.9, 1e6)}, nil); err != nil {
		t.Error(err)
	}
}

// TestHysteresisHolds: what a plan keeps, one of more hysteresis keeps; with
// enough of it, nothing that can stay changes.
func TestHysteresisHolds(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		pr, oracles := drawProblem(t)
		first, err := solveWith(pr, oracles, nil)
		if err != nil {
			return
		}
		adopt(&pr, first)
		more, more2 := drawProblem(t) // other jobs come
		for i := range more.Jobs {
			more.Jobs[i].Name = "new-" + more.Jobs[i].Name
		}
		pr.Jobs, oracles = append(pr.Jobs, more.Jobs...), append(oracles, more2...)
		changes := func(h float64) (n int) {
			pr.Hysteresis = h
			made, err := solveWith(pr, oracles, nil)
			if err != nil {
				t.Fatal(err)
			}
			for i, j := range made.Jobs {
				if pr.Jobs[i].Current != nil && j.Action != data.Keep {
					n++
				}
			}
			return n
		}
		if changes(0) == 0 && changes(600) > 0 {
			t.Fatal("a plan that changes nothing does so with hysteresis")
		}
	})
}

// spy is a policy that remembers what it was shown and gives nobody anything.
type spy struct{ seen *allocate.State }

func (s spy) Allocate(state allocate.State) (allocate.Assignment, error) {
	*s.seen = state
	a := allocate.Assignment{Choice: make([]int, len(state.Jobs))}
	for i := range a.Choice {
		a.Choice[i] = allocate.None
	}
	return a, nil
}

// TestRiskCountsForEveryPolicy: a policy is shown the speeds that the plan
// counts, a tenth below the mean at full risk of law.
func TestRiskCountsForEveryPolicy(t *testing.T) {
	pr := Problem{Cluster: testCluster(nodes("t4", 1, 4)...), Jobs: []data.Job{named("a", 1, 4)}, Risk: 1}
	var seen allocate.State
	if _, err := solveWith(pr, []oracle{t4(1, 3.6e5)}, spy{&seen}); err != nil {
		t.Fatal(err)
	}
	a := seen.Jobs[0].Options[0].Answer
	if math.Abs(a.Goodput.Mean-90) > 1e-9 || a.Goodput.Lo != a.Goodput.Mean || math.Abs(a.TimeToTarget.Mean-4000) > 1e-6 || math.Abs(seen.Jobs[0].Remaining-4000) > 1e-6 {
		t.Errorf("goodput %+v, time %+v, remaining %g: want 90 samples/s and 4000 s", a.Goodput, a.TimeToTarget, seen.Jobs[0].Remaining)
	}
}
