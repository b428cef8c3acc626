package plan

import (
	"math"
	"slices"
	"strings"
	"testing"

	"knee/allocate"
	"knee/data"
	"knee/predict"
)

// TestOpportunisticTakesWhatIsLeft: of 8 GPUs a job with a claim takes at most 6
// whatever runs on them, and an opportunistic one the other 2; where the claim
// is to all, it waits.
func TestOpportunisticTakesWhatIsLeft(t *testing.T) {
	for _, tt := range []struct {
		claim  int
		want   []int
		action data.Action
		saved  string
	}{{6, []int{2, 6}, data.Move, ""}, {8, []int{0, 8}, data.Pause, "leave nothing"}} {
		extra := named("extra", 1, 8)
		extra.Opportunistic, extra.Weight = true, 1000 // its weight gives it no claim
		extra.Current = &data.Current{GPUType: "t4", Placement: data.Placement{4}, Nodes: []string{"t41"}}
		pr := Problem{Cluster: testCluster(nodes("t4", 2, 4)...), Jobs: []data.Job{extra, named("own", tt.claim, tt.claim)}}
		laws := map[string]oracle{"extra": t4(0.9, 1e6), "own": t4(0.9, 1e6)}
		made, err := opportunistic(pr, nil, func(pr Problem, p allocate.Policy) (*data.Plan, error) {
			var oracles []oracle
			for _, j := range pr.Jobs {
				oracles = append(oracles, laws[j.Name])
			}
			return solveWith(pr, oracles, p)
		})
		if err != nil {
			t.Fatal(err)
		}
		checkPlan(t, pr, made)
		if got := []int{made.Jobs[0].Workers, made.Jobs[1].Workers}; !slices.Equal(got, tt.want) || !strings.Contains(made.Jobs[0].Reason, tt.saved) {
			t.Errorf("claim of %d: workers %v, want %v (%s)", tt.claim, got, tt.want, made.Jobs[0].Reason)
		}
		if j, alone := made.Jobs[0], 1e4/math.Pow(2, .9)/.9; j.Action == data.Move && math.Abs(j.Finish.Mean-alone-30) > 1e-6 {
			t.Errorf("moved over two nodes, it ends in %g s, want %g and 30 of its restart", j.Finish.Mean, alone)
		}
		if j := made.Jobs[0]; j.Action != tt.action || len(j.Was) != 1 {
			t.Errorf("%s from %v, want %s", j.Action, j.Was, tt.action)
		}
		if made.Utilization.GPUsUsed != tt.want[0]+tt.want[1] {
			t.Errorf("%d GPUs used", made.Utilization.GPUsUsed)
		}
	}
}

// With Apart no two jobs span nodes on the same node, be one opportunistic or without a model.
func TestApartFromJobsPlannedBefore(t *testing.T) {
	on := func(nodes ...string) *data.Current {
		return &data.Current{GPUType: "t4", Placement: data.Placement{2, 1}, Nodes: nodes}
	}
	for name, tt := range map[string]struct {
		oracle        oracle        // of a
		a, b          *data.Current // where they run
		opportunistic bool          // b
		want          data.Action   // of b
	}{
		"opportunistic":                   {t4(.9, 1e6), nil, nil, true, data.Wait},
		"opportunistic, runs":             {t4(.9, 1e6), on("t41", "t42"), on("t43", "t42"), true, data.Pause},
		"beside a job without a model":    {nil, on("t41", "t42"), nil, false, data.Wait},
		"opportunistic, without a model":  {nil, on("t41", "t42"), nil, true, data.Wait},
		"opportunistic, runs beside such": {nil, on("t41", "t42"), on("t43", "t42"), true, data.Pause},
	} {
		pr := Problem{Cluster: testCluster(nodes("t4", 3, 2)...), Jobs: []data.Job{named("a", 3, 3), named("b", 3, 3)}, Apart: true}
		pr.Jobs[0].Current, pr.Jobs[1].Current, pr.Jobs[1].Opportunistic = tt.a, tt.b, tt.opportunistic
		made, err := solveKnown(pr, []oracle{tt.oracle, t4(.9, 1e6)})
		if err != nil {
			t.Fatal(err)
		}
		if a, b := made.Jobs[0], made.Jobs[1]; a.Workers != 3 || b.Action != tt.want {
			t.Errorf("%s: a on %v, b %s on %v; want b to %s", name, a.Placement, b.Action, b.Placement, tt.want)
		}
	}
}

// TestOpportunisticOfALostNode: it starts elsewhere as any other job does, and one that
// fits no GPU type of the cluster says so.
func TestOpportunisticOfALostNode(t *testing.T) {
	lost, misfit := named("lost", 1, 4), named("misfit", 1, 4)
	lost.Opportunistic, misfit.Opportunistic, misfit.GPUTypes = true, true, []string{"v100"}
	lost.Current = &data.Current{GPUType: "t4", Placement: data.Placement{4, 4}, Nodes: []string{"t41", "gone"}}
	pr := Problem{Cluster: testCluster(nodes("t4", 2, 4)...), Jobs: []data.Job{lost, misfit, named("own", 4, 4)}}
	made, err := solveKnown(pr, []oracle{t4(0.9, 1e6), t4(0.9, 1e6), t4(0.9, 1e6)})
	if err != nil {
		t.Fatal(err)
	}
	if j := made.Jobs[0]; j.Action != data.Start || len(j.Was) > 0 || !strings.Contains(strings.Join(j.Warnings, " "), `node "gone"`) {
		t.Errorf("lost: %s from %v, warnings %q", j.Action, j.Was, j.Warnings)
	}
	if j := made.Jobs[1]; !strings.Contains(j.Reason, "may run on v100") {
		t.Errorf("misfit: %s", j.Reason)
	}
}

// TestOpportunisticOnUnknownNodes: it gives way although no node has room left for what it runs on.
func TestOpportunisticOnUnknownNodes(t *testing.T) {
	extra := named("extra", 1, 8)
	extra.Opportunistic, extra.Current = true, &data.Current{GPUType: "t4", Placement: data.Placement{4}}
	pr := Problem{Cluster: testCluster(nodes("t4", 2, 4)...), Jobs: []data.Job{extra, named("own", 6, 6)}}
	made, err := solveKnown(pr, []oracle{t4(0.9, 1e6), t4(0.9, 1e6)})
	if err != nil {
		t.Fatal(err)
	}
	if j := made.Jobs[0]; j.Workers != 2 || j.Action != data.Shrink {
		t.Errorf("%s with %d workers", j.Action, j.Workers)
	}
	pr.Jobs[0].Current.Placement[0] = 5
	if _, err := solveKnown(pr, []oracle{t4(0.9, 1e6), t4(0.9, 1e6)}); err == nil || !strings.Contains(err.Error(), "at most 4") {
		t.Errorf("more than any node has: %v", err)
	}
}

// TestLogicalWorkers: a job of 12 logical workers and a batch of 48 gets 1, 2,
// 3, 4, 6 or 12 workers, each with whole logical workers of 4 samples one after
// another, so that the global batch is always 48.
func TestLogicalWorkers(t *testing.T) {
	job := named("a", 1, 16)
	job.LogicalWorkers, job.Batch = 12, data.Batch{Initial: 48}
	in := newClusterFit(testCluster(nodes("t4", 4, 4)...))
	var sizes []int
	for _, c := range shapes(job, t4(0.9, 0), in) {
		a, err := answer(job, t4(0.9, 0), c)
		if err != nil {
			t.Fatal(err)
		}
		if sizes = append(sizes, c.Workers); a.Config.GlobalBatch() != 48 || a.Config.LocalBatch != 4 {
			t.Errorf("%d workers: batch %g of %g", c.Workers, a.Config.LocalBatch, a.Config.GlobalBatch())
		}
	}
	if !slices.Equal(sizes, []int{1, 2, 3, 4, 6, 12}) {
		t.Errorf("sizes %v", sizes)
	}
	made, err := solveWith(Problem{Cluster: in.Cluster, Jobs: []data.Job{job}}, []oracle{t4(0.9, 1e6)}, nil)
	if err != nil {
		t.Fatal(err)
	}
	if got := made.Jobs[0].Range; got != (data.IntRange{}) {
		t.Errorf("range %v, want none for exporters: five workers would not divide the logical ones", got)
	}
	job.Batch.Adapt = true
	_, err = solveWith(Problem{Cluster: in.Cluster, Jobs: []data.Job{job}}, []oracle{t4(0.9, 1e6)}, nil)
	if err == nil || !strings.Contains(err.Error(), "logical_workers") {
		t.Errorf("a batch that is adapted: %v", err)
	}
}

// TestOpportunisticHasTheQuotaThatIsLeft: two GPUs of a quota of six, to the claim of four of the same owner.
func TestOpportunisticHasTheQuotaThatIsLeft(t *testing.T) {
	extra, own := named("extra", 1, 8), named("own", 4, 4)
	extra.Opportunistic, extra.Tenant, own.Tenant = true, "ann", "bob"
	pr := Problem{
		Cluster: testCluster(nodes("t4", 4, 4)...), Jobs: []data.Job{extra, own},
		Tenants: []data.Tenant{{Name: "group", Quota: map[string]int{"t4": 6, "h100": 1}}, {Name: "ann", Parent: "group"}, {Name: "bob", Parent: "group"}},
	}
	made, err := opportunistic(pr, nil, func(pr Problem, p allocate.Policy) (*data.Plan, error) {
		oracles := make([]oracle, len(pr.Jobs))
		for i := range oracles {
			oracles[i] = t4(0.9, 1e6)
		}
		return solveWith(pr, oracles, p)
	})
	if err != nil {
		t.Fatal(err)
	}
	if got := []int{made.Jobs[0].Workers, made.Jobs[1].Workers}; !slices.Equal(got, []int{2, 4}) {
		t.Errorf("workers %v, want [2 4]", got)
	}
	if n := strings.Count(strings.Join(made.Warnings, "; "), "limits nothing"); n != 1 {
		t.Errorf("a quota that limits nothing is said %d times: %q", n, made.Warnings)
	}
}

// TestOpportunisticPrice: a GPU that others leave costs what every GPU of its type does.
func TestOpportunisticPrice(t *testing.T) {
	pr := sharedModel(t, 2)
	for i := range pr.Cluster.Nodes {
		pr.Cluster.Nodes[i].PricePerHour = 4
	}
	pr.Jobs[0].Opportunistic = true
	pr.Jobs[0].GPUTypes, pr.Jobs[1].GPUTypes = []string{"v100"}, []string{"v100"}
	pr.Jobs[1].Workers = data.IntRange{Min: 6, Max: 6}
	made, err := Solve(pr, nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, j := range made.Jobs {
		if hourly := j.Cost.Mean / j.Finish.Mean * 3600; math.Abs(hourly-float64(j.Workers)) > 1e-6 {
			t.Errorf("%s: $%g an hour for %d GPUs at $1", j.Name, hourly, j.Workers)
		}
	}
}

// TestOpportunisticNeedsCores: it stays only where the others leave cores and memory
// too; one of a lost node takes no room from one that stays.
func TestOpportunisticNeedsCores(t *testing.T) {
	extra, second := named("extra", 1, 4), named("second", 1, 2)
	extra.Opportunistic, extra.Current = true, &data.Current{GPUType: "t4", Placement: data.Placement{4}, Nodes: []string{"t41"}}
	second.Opportunistic, second.Current = true, &data.Current{GPUType: "t4", Placement: data.Placement{2}, Nodes: []string{"t41"}}
	own := named("own", 2, 2)
	own.Resources.Worker.CPUs = 8
	oracles := []oracle{t4(0.9, 1e6), t4(0.9, 1e6), t4(0.9, 1e6)}
	for _, need := range []data.Need{{CPUs: 4}, {Memory: 4 << 30}} {
		extra.Resources.Worker = need
		pr := Problem{Cluster: testCluster(data.Node{Name: "t41", GPUType: "t4", GPUs: 8, CPUs: 16, Memory: 16 << 30}), Jobs: []data.Job{extra, own}}
		pr.Jobs[1].Resources.Worker = data.Need{CPUs: 2 * need.CPUs, Memory: 2 * need.Memory}
		made, err := solveKnown(pr, oracles[:2])
		if err != nil {
			t.Fatal(err)
		}
		checkPlan(t, pr, made)
		if j := made.Jobs[0]; j.Workers != 0 || j.Action != data.Pause {
			t.Errorf("%+v for each: %s with %d workers, where nothing is left", need, j.Action, j.Workers)
		}
	}
	extra.Resources = data.Resources{}
	extra.Current.Placement, extra.Current.Nodes = data.Placement{2, 2}, []string{"t41", "gone"}
	own.Resources = data.Resources{}
	pr := Problem{Cluster: testCluster(nodes("t4", 1, 4)...), Jobs: []data.Job{extra, second, own}}
	made, err := solveKnown(pr, oracles)
	if err != nil {
		t.Fatal(err)
	}
	if j := made.Jobs[1]; j.Action != data.Keep && j.Action != data.Shrink {
		t.Errorf("second: %s, although its node has room for it", j.Action)
	}
}

// TestOpportunisticStaysBesideOthers: of equal nodes a job with a claim takes the
// empty one, and a running job without a model, or that fits nowhere, stays only within the
// quota.
func TestOpportunisticStaysBesideOthers(t *testing.T) {
	for _, tt := range []struct {
		quota, own int
		model      oracle // with which it wants more than there is
		want       data.Action
		reason     string
	}{
		{8, 4, nil, data.Keep, "no fitted model"}, {4, 4, nil, data.Pause, "quota"}, {8, 8, nil, data.Pause, "nodes"},
		{8, 4, t4(0.9, 1e6), data.Keep, "at least 9 workers"}, {4, 4, t4(0.9, 1e6), data.Pause, "quota"},
	} {
		extra, own := named("extra", 9, 0), named("own", tt.own, tt.own)
		extra.Opportunistic, extra.Tenant, own.Tenant = true, "ann", "ann"
		extra.Current = &data.Current{GPUType: "t4", Placement: data.Placement{2}, Nodes: []string{"t41"}}
		pr := Problem{Cluster: testCluster(nodes("t4", 2, 4)...), Jobs: []data.Job{extra, own}, Tenants: []data.Tenant{{Name: "ann", Quota: map[string]int{"t4": tt.quota}}}}
		if tt.model != nil {
			pr.Predictors = map[string]*predict.Predictor{"extra": {}}
		}
		made, err := solveKnown(pr, []oracle{tt.model, t4(0.9, 1e6)})
		if err != nil {
			t.Fatal(err)
		}
		if j := made.Jobs[0]; j.Action != tt.want || !strings.Contains(j.Reason, tt.reason) || made.Jobs[1].Workers != tt.own {
			t.Errorf("quota %d, claim to %d: %s (%s), want %s", tt.quota, tt.own, j.Action, j.Reason, tt.want)
		}
	}
}
