package plan

import (
	"errors"
	"fmt"
	"math"
	"testing"
	"time"

	"knee/allocate"
	"knee/allocate/objective"
	"knee/data"

	"pgregory.net/rapid"
)

// drawBusy draws a problem of a cluster in use: jobs that run on nodes that are
// there or gone, with and without a model, opportunistic ones, tenants within
// tenants, logical workers, deadlines that can be met and others. Which node
// holds a parameter server is nothing jobs.yaml says, so that opportunistic jobs
// are drawn only where there are none.
func drawBusy(t *rapid.T) (Problem, []oracle) {
	c := testCluster(append(nodes("t4", rapid.IntRange(1, 5).Draw(t, "t4"), rapid.IntRange(1, 4).Draw(t, "gpus")), nodes("v100", rapid.IntRange(0, 3).Draw(t, "v100"), rapid.IntRange(1, 8).Draw(t, "vgpus"))...)...)
	if rapid.Bool().Draw(t, "cores") {
		for i := range c.Nodes {
			c.Nodes[i].CPUs = float64(rapid.IntRange(2, 12).Draw(t, "cpus"))
		}
	}
	for i := range c.Nodes {
		c.Nodes[i].PricePerHour = float64(rapid.IntRange(0, 5).Draw(t, "price"))
	}
	pr := Problem{Cluster: c, Objective: rapid.SampledFrom(objective.Names()).Draw(t, "objective"), Risk: rapid.SampledFrom([]float64{0, 0.5, 1}).Draw(t, "risk"), Now: time.Unix(1e9, 0)}
	pr.EqualNodes = rapid.Bool().Draw(t, "equal")
	pr.Apart = rapid.Bool().Draw(t, "apart")
	pr.Sizes = rapid.SampledFrom(SizeSets()).Draw(t, "sizes")
	pr.Tenants = []data.Tenant{{Name: "org", Quota: map[string]int{"t4": rapid.IntRange(0, 12).Draw(t, "org quota")}}, {Name: "lab", Parent: "org", Quota: map[string]int{"v100": rapid.IntRange(0, 8).Draw(t, "quota")}}}
	if rapid.Bool().Draw(t, "all types") {
		pr.Tenants[1].Quota[data.AllTypes] = rapid.IntRange(0, 12).Draw(t, "quota of all")
	}
	var oracles []oracle
	servers := rapid.Bool().Draw(t, "servers")
	for i := range rapid.IntRange(1, 8).Draw(t, "jobs") {
		j := named(fmt.Sprint("j", i), rapid.IntRange(1, 3).Draw(t, "min"), rapid.IntRange(3, 12).Draw(t, "max"))
		j.RestartSeconds = rapid.SampledFrom([]float64{0, 30, 1000}).Draw(t, "restart")
		j.Weight = rapid.SampledFrom([]float64{0, 1, 3}).Draw(t, "weight")
		j.Resources = data.Resources{Worker: data.Need{CPUs: 1}, PS: data.Need{CPUs: 1}}
		if rapid.Bool().Draw(t, "late") {
			j.Deadline = time.Duration(rapid.IntRange(1, 600).Draw(t, "deadline")) * time.Minute
		}
		if rapid.IntRange(0, 5).Draw(t, "logical") == 0 {
			j.LogicalWorkers, j.Batch = 8, data.Batch{Initial: 64}
		}
		j.Opportunistic = !servers && rapid.IntRange(0, 5).Draw(t, "opportunistic") == 0
		j.Tenant = rapid.SampledFrom([]string{"", "lab", "org"}).Draw(t, "tenant")
		l := law{rates: map[string]float64{"t4": 100, "v100": 300}, power: rapid.Float64Range(0.1, 1).Draw(t, "power"),
			samples: math.Exp(rapid.Float64Range(8, 18).Draw(t, "log samples")), price: 1,
			uneven: rapid.SampledFrom([]float64{0, .2}).Draw(t, "uneven")}
		if servers && rapid.Bool().Draw(t, "ps") {
			l.modes = []data.Mode{data.PSSync}
		}
		var o oracle = l
		if rapid.Bool().Draw(t, "runs") {
			n := c.Nodes[rapid.IntRange(0, len(c.Nodes)-1).Draw(t, "on")]
			mode := data.AllReduce
			ps := 0
			if l.modes != nil {
				mode, ps = data.PSSync, 1
			}
			j.Current = &data.Current{GPUType: n.GPUType, Mode: mode, PS: ps, Placement: data.Placement{1}, Nodes: []string{n.Name}, LocalBatch: 64}
			switch rapid.IntRange(0, 5).Draw(t, "fate") {
			case 0:
				o = nil
			case 1:
				j.Current.Nodes = []string{"gone"}
			}
		}
		pr.Jobs, oracles = append(pr.Jobs, j), append(oracles, o)
	}
	if len(c.Nodes) > 1 && rapid.Bool().Draw(t, "drained") {
		c.Nodes[0].Drained = true
	}
	return pr, oracles
}

// fitNow stops the jobs that do not fit beside the others.
func fitNow(pr *Problem) {
	free := map[string]int{}
	cpu := map[string]float64{}
	for _, n := range pr.Cluster.Nodes {
		free[n.Name], cpu[n.Name] = n.GPUs, n.CPUs
		if n.CPUs == 0 {
			cpu[n.Name] = 1e9
		}
	}
	for i := range pr.Jobs {
		c := pr.Jobs[i].Current
		if c == nil || c.Nodes[0] == "gone" {
			continue
		}
		if free[c.Nodes[0]] < 1 || cpu[c.Nodes[0]] < float64(1+c.PS) {
			pr.Jobs[i].Current = nil
			continue
		}
		free[c.Nodes[0]]--
		cpu[c.Nodes[0]] -= float64(1 + c.PS)
	}
}

// TestPlansOfBusyClustersAreSound: no node, quota or bound is exceeded, and what
// a plan decides, once it runs, it decides again.
func TestPlansOfBusyClustersAreSound(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		pr, oracles := drawBusy(t)
		fitNow(&pr)
		made, err := solveKnown(pr, oracles)
		var none *Infeasible
		if errors.As(err, &none) {
			return
		}
		if err != nil {
			t.Fatal(err)
		}
		checkBusy(t, pr, made)
		adopt(&pr, made)
		again, err := solveKnown(pr, oracles)
		if err != nil {
			t.Fatal(err)
		}
		checkBusy(t, pr, again)
		for i, j := range again.Jobs {
			if was := made.Jobs[i]; j.Action != data.Keep && (j.Action.Runs() || was.Action.Runs()) {
				t.Fatalf("planned again, job %s is to %s: %+v, had %+v", j.Name, j.Action, j, was)
			}
		}
	})
}

// solveKnown is Solve with jobs of known speed.
func solveKnown(pr Problem, oracles []oracle) (*data.Plan, error) {
	at := map[string]oracle{}
	for i, j := range pr.Jobs {
		at[j.Name] = oracles[i]
	}
	return opportunistic(pr, nil, func(pr Problem, policy allocate.Policy) (*data.Plan, error) {
		var of []oracle
		for _, j := range pr.Jobs {
			of = append(of, at[j.Name])
		}
		return solveWith(pr, of, policy)
	})
}

// checkBusy asserts what holds for every plan. Occupants stay beyond a quota, but planned
// jobs get only what they leave of it.
func checkBusy(t *rapid.T, pr Problem, made *data.Plan) {
	t.Helper()
	if made.Value > made.Bound+1e-9*(1+math.Abs(made.Bound)) {
		t.Fatalf("value %g above bound %g", made.Value, made.Bound)
	}
	used, t4s, v100s, planned := map[string]int{}, 0, 0, map[string]bool{}
	labs, labPlanned := 0, false
	for i, j := range made.Jobs {
		for _, s := range j.Placement {
			used[s.Node] += s.Workers
		}
		if job := pr.Jobs[i]; job.Tenant != "" && !job.Opportunistic {
			planned[j.GPUType] = planned[j.GPUType] || j.Worth != nil && (j.GPUType == "t4" || job.Tenant == "lab")
			if j.GPUType == "t4" { // of org and of lab within it
				t4s += j.Workers
			} else if job.Tenant == "lab" {
				v100s += j.Workers
			}
			if job.Tenant == "lab" {
				labs, labPlanned = labs+j.Workers, labPlanned || j.Worth != nil && j.Workers > 0
			}
		}
	}
	for _, n := range pr.Cluster.Nodes {
		if used[n.Name] > n.GPUs {
			t.Fatalf("node %s holds %d workers on %d GPUs", n.Name, used[n.Name], n.GPUs)
		}
	}
	if org, lab := pr.Tenants[0].Quota["t4"], pr.Tenants[1].Quota["v100"]; planned["t4"] && t4s > org || planned["v100"] && v100s > lab {
		t.Fatalf("%d t4 with a quota of %d, %d v100 with one of %d", t4s, org, v100s, lab)
	}
	if all, limited := pr.Tenants[1].Quota[data.AllTypes]; limited && labPlanned && labs > all {
		t.Fatalf("lab has %d GPUs with a quota of %d", labs, all)
	}
}
