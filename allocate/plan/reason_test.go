package plan

import (
	"fmt"
	"strings"
	"testing"

	"knee/allocate"
	"knee/data"
	"knee/fit"
	"knee/fit/memory"
	"knee/predict"
)

// TestWhyNoLarger: a job that gets all it may have is told what keeps it from
// more: its bounds, what its owner said to the scheduler, its logical workers, or
// the nodes.
func TestWhyNoLarger(t *testing.T) {
	bounded, asked, logical, wide := named("j", 1, 2), named("j", 2, 2), named("j", 1, 8), named("j", 1, 8)
	asked.ID = "17"
	logical.LogicalWorkers, logical.Batch = 2, data.Batch{Initial: 32}
	for want, job := range map[string]data.Job{"workers.max is 2": bounded, "neither knee:elastic nor a range": asked,
		"logical_workers is 2": logical, "the nodes hold 4 workers": wide} {
		made, err := solveWith(Problem{Cluster: testCluster(nodes("t4", 1, 4)...), Jobs: []data.Job{job}}, []oracle{t4(0.9, 1e6)}, nil)
		if err != nil {
			t.Fatal(err)
		}
		if got := made.Jobs[0].Reason; !strings.Contains(got, want) {
			t.Errorf("%q, want %q", got, want)
		}
	}
}

// crowded is a law whose batches fit in memory only on up to most workers, and the initial
// one of a job never.
type crowded struct {
	law
	most int
}

func (o crowded) At(c data.Config) (predict.Answer, error) {
	a, err := o.law.At(c)
	a.Memory = &memory.Prediction{Peak: data.Estimate{Mean: 20 << 30}, Capacity: 16 << 30, Fits: 1}
	if c.Workers > o.most || c.LocalBatch != 64 {
		a.Memory.Fits = 0.1
	}
	return a, err
}

func (o crowded) BestBatch(c data.Config) (predict.Answer, error) {
	c.LocalBatch = 64
	return o.At(c)
}

// TestWhyMemoryAllowsNoMore: memory is named where it is what a job lacks: on more
// workers, on any number of them, and with the batch that it keeps.
func TestWhyMemoryAllowsNoMore(t *testing.T) {
	job := named("j", 1, 4)
	job.Batch = data.Batch{Initial: 512, Max: 1024, Adapt: true}
	for most, want := range []string{"no configuration can be planned, the first: 1 × t4, allreduce: batch 64 needs 20 GiB (0 to 0) where t4 has 16",
		"with more workers it does not fit in the memory of a t4", "with more workers it does not fit in the memory of a t4"} {
		made, err := solveWith(Problem{Cluster: testCluster(nodes("t4", 1, 8)...), Jobs: []data.Job{job}}, []oracle{crowded{t4(0.9, 1e6), most}}, nil)
		got := fmt.Sprint(err)
		if made != nil {
			got = made.Jobs[0].Reason
		}
		if !strings.Contains(got, want) {
			t.Errorf("on up to %d workers: %q, want %q", most, got, want)
		}
	}
	_, err := solveWith(Problem{Cluster: testCluster(nodes("t4", 1, 8)...), Jobs: []data.Job{job}, KeepBatch: true}, []oracle{crowded{t4(0.9, 1e6), 4}}, nil)
	if want := "with its initial batch, the first: 1 × t4"; err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("error %v, want %q", err, want)
	}
}

// TestWhyNoMoreOfAQuota: GPUs are free, but the tenant may have no more.
func TestWhyNoMoreOfAQuota(t *testing.T) {
	job := named("j", 1, 8)
	job.Tenant = "lab"
	pr := Problem{Cluster: testCluster(nodes("t4", 1, 8)...), Jobs: []data.Job{job}, Tenants: []data.Tenant{{Name: "lab", Quota: map[string]int{"t4": 2}}}}
	made, err := solveWith(pr, []oracle{t4(0.9, 1e6)}, nil)
	if err != nil {
		t.Fatal(err)
	}
	if got, want := made.Jobs[0].Reason, "the quota of tenant lab is used up"; made.Jobs[0].Workers != 2 || !strings.Contains(got, want) {
		t.Errorf("%d workers, %q, want 2 and %q", made.Jobs[0].Workers, got, want)
	}
}

// chooses is a policy that makes these choices.
type chooses []int

// Allocate implements [allocate.Policy].
func (c chooses) Allocate(allocate.State) (allocate.Assignment, error) {
	return allocate.Assignment{Choice: c}, nil
}

// TestWhyAPolicyGivesNoMore: what a policy leaves idle is not told to be worth more to
// others, nor what a quota forbids.
func TestWhyAPolicyGivesNoMore(t *testing.T) {
	pr := Problem{Cluster: testCluster(nodes("t4", 1, 8)...), Jobs: []data.Job{named("one", 1, 8), named("none", 1, 8), named("poor", 1, 8)},
		Policy: "sjf", Tenants: []data.Tenant{{Name: "lab", Quota: map[string]int{"t4": 0}}}}
	pr.Jobs[2].Tenant = "lab"
	made, err := solveWith(pr, []oracle{t4(0.9, 1e6), t4(0.9, 1e6), t4(0.9, 1e6)}, chooses{0, allocate.None, allocate.None})
	if err != nil {
		t.Fatal(err)
	}
	for i, want := range []string{"which policy sjf does not give it", "policy sjf does not give it the 1 × t4", "the quota of tenant lab has no room for the 1 × t4"} {
		if got := made.Jobs[i].Reason; !strings.Contains(got, want) {
			t.Errorf("%q, want %q", got, want)
		}
	}
}

// A policy that gives jobs the size they ask for does not give it that size.
func TestWhyAGangWaits(t *testing.T) {
	pr := Problem{Cluster: testCluster(nodes("t4", 1, 8)...), Jobs: []data.Job{named("none", 1, 8)}, Policy: "fifo", Gang: true}
	pr.Jobs[0].Requested = 4
	made, err := solveWith(pr, []oracle{t4(0.9, 1e6)}, chooses{allocate.None})
	if err != nil {
		t.Fatal(err)
	}
	if got := made.Jobs[0].Reason; got != "policy fifo does not give it the 4 × t4 it asks for" {
		t.Errorf("%q, want that it asks for four", got)
	}
}

// TestASizeThatAJobCannotHave: four workers do not divide a batch of six, so that a policy
// of gangs gives three, and says so.
func TestASizeThatAJobCannotHave(t *testing.T) {
	job := named("six", 1, 8)
	job.Requested, job.Batch = 4, data.Batch{Initial: 6}
	pr := Problem{Cluster: testCluster(nodes("t4", 1, 8)...), Jobs: []data.Job{job}, Policy: "fifo", Gang: true, Needs: []string{"requested"}}
	made, err := solveWith(pr, []oracle{t4(0.9, 1e6)}, chooses{2})
	if err != nil {
		t.Fatal(err)
	}
	if got := strings.Join(made.Warnings, "\n"); made.Jobs[0].Workers != 3 || !strings.Contains(got, `job "six": asks for 4 workers`) {
		t.Errorf("%d workers, warnings %q, want 3 and that it asks for 4", made.Jobs[0].Workers, got)
	}
}

// TestTheReasonIsOfWhatAJobGot: of two workers it gets the option with one server, which is
// slower than that with two.
func TestTheReasonIsOfWhatAJobGot(t *testing.T) {
	job, o := named("j", 1, 2), t4(0.9, 1e6)
	o.modes, job.PS = []data.Mode{data.PSSync}, data.IntRange{Min: 1, Max: 2}
	made, err := solveWith(Problem{Cluster: testCluster(nodes("t4", 1, 8)...), Jobs: []data.Job{job}}, []oracle{o}, chooses{2})
	if err != nil {
		t.Fatal(err)
	}
	j := made.Jobs[0]
	if want := "to " + rate(j.Goodput.Mean) + " samples/s"; j.Workers != 2 || j.PS != 1 || !strings.Contains(j.Reason, want) {
		t.Errorf("%d workers, %d ps, %q, want 2, 1 and %q", j.Workers, j.PS, j.Reason, want)
	}
}

// An objective of costs wants prices.
func TestCostsWithoutPrices(t *testing.T) {
	for objective, warned := range map[string]bool{"cost": true, "deadline": true, "jct": false} {
		for _, price := range []float64{0, 1} {
			l := t4(0.9, 1e6)
			l.price = price
			made, err := solveWith(Problem{Cluster: testCluster(nodes("t4", 1, 8)...), Jobs: []data.Job{named("a", 1, 8)}, Objective: objective}, []oracle{l}, nil)
			if err != nil {
				t.Fatal(err)
			}
			want := warned && price == 0
			if got := strings.Contains(strings.Join(made.Warnings, " "), "objective "+objective+" goes by costs, and nothing has a price"); got != want {
				t.Errorf("%s at $%g: warnings %q", objective, price, made.Warnings)
			}
		}
	}
}

// TestIdleGPUsAreToldIfAJobWaits: GPUs beside a job on its node are worth a warning only
// where a job waits for whole nodes.
func TestIdleGPUsAreToldIfAJobWaits(t *testing.T) {
	small, wide := named("small", 1, 1), named("wide", 8, 8)
	small.Weight = 1000
	for _, jobs := range [][]data.Job{{small}, {small, wide}} {
		oracles := []oracle{t4(0.9, 1e6), t4(0.9, 1e6)}[:len(jobs)]
		made, err := solveWith(Problem{Cluster: testCluster(nodes("t4", 1, 8)...), Jobs: jobs}, oracles, nil)
		if err != nil {
			t.Fatal(err)
		}
		if told := strings.Contains(strings.Join(made.Warnings, "\n"), "7 GPUs are idle"); told != (len(jobs) > 1) {
			t.Errorf("%d jobs: warnings %q", len(jobs), made.Warnings)
		}
	}
}

// TestInfeasibleIsShort: of many reasons the first are told, and how many more there are.
func TestInfeasibleIsShort(t *testing.T) {
	text := (&Infeasible{Reasons: strings.Fields("a b c d e f g h i j k l")}).Error()
	if text != "no job can be planned: a; b; c; d; e; f; g; h; i; j; and 2 more" {
		t.Error(text)
	}
}

// TestTheNextSizeIsToldNotTheLast: of a job that is slower with every worker, the reason
// names the best of the larger sizes.
func TestTheNextSizeIsToldNotTheLast(t *testing.T) {
	made, err := solveWith(Problem{Cluster: testCluster(nodes("t4", 1, 8)...), Jobs: []data.Job{named("j", 1, 8)}}, []oracle{t4(-0.5, 1e6)}, nil)
	if err != nil {
		t.Fatal(err)
	}
	if got, want := made.Jobs[0].Reason, "; 2 would lower it from 100 to 70.7"; !strings.Contains(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
}

// TestAGoalBeyondReachIsRefused: a job that no cluster ends is not planned.
func TestAGoalBeyondReachIsRefused(t *testing.T) {
	_, err := solveWith(Problem{Cluster: testCluster(nodes("t4", 1, 8)...), Jobs: []data.Job{named("j", 1, 8)}}, []oracle{t4(1, 1e13)}, nil)
	if want := "no configuration reaches its goal within 31.7 years, the fastest takes 396: check remaining and batch"; err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("error %v, want %q", err, want)
	}
}

// doubtful is a law that may be far slower on more than four workers.
type doubtful struct{ law }

func (o doubtful) At(c data.Config) (predict.Answer, error) {
	a, err := o.law.At(c)
	if c.Workers > 4 {
		a.Goodput.Lo, a.Expected = a.Goodput.Mean/50, 10*a.StepTime.Mean
	}
	return a, err
}

func (o doubtful) BestBatch(c data.Config) (predict.Answer, error) {
	c.LocalBatch = 64
	return o.At(c)
}

// TestADoubtfulSizeIsNotChosen: a size that is likely faster, and slower in expectation
// of the time, is not chosen, and the reason says by how much it may be slower.
func TestADoubtfulSizeIsNotChosen(t *testing.T) {
	made, err := solveWith(Problem{Cluster: testCluster(nodes("t4", 1, 8)...), Jobs: []data.Job{named("j", 1, 8)}}, []oracle{doubtful{t4(1, 1e6)}}, nil)
	if err != nil {
		t.Fatal(err)
	}
	want := "; 8 would raise it from 400 to 800 samples/s (+100 %) or lower it to 16, as its speed is uncertain"
	if j := made.Jobs[0]; j.Workers != 4 || !strings.Contains(j.Reason, want) {
		t.Errorf("%d workers, %q, want 4 and %q", j.Workers, j.Reason, want)
	}
}

// TestAnUnmeasuredNetwork: a job measured on one node stays there, and is told why, unless
// the network that was never measured is known from another row.
func TestAnUnmeasuredNetwork(t *testing.T) {
	row := func(nodes, workers int, seconds float64) data.Measurement {
		return data.Measurement{Config: data.Config{Job: "j", GPUType: "t4", Nodes: nodes, Workers: workers, LocalBatch: 32}, StepTime: seconds, Status: data.OK}
	}
	rows := []data.Measurement{row(1, 1, .1), row(1, 2, .11), row(1, 4, .12)}
	for want, rows := range map[string][]data.Measurement{
		"the network between nodes is unmeasured: 4 workers are certain": rows,
		"it has no larger option": append(rows, row(4, 16, .13)),
	} {
		m, err := fit.Fit(rows, fit.Settings{})
		if err != nil {
			t.Fatal(err)
		}
		job := named("j", 1, 16)
		job.Batch, job.Remaining = data.Batch{Initial: 128, Max: 512, Adapt: true}, data.Remaining{Steps: 1e5}
		made, err := Solve(Problem{Cluster: testCluster(nodes("t4", 4, 4)...), Jobs: []data.Job{job},
			Predictors: map[string]*predict.Predictor{"j": {Model: m}}}, nil)
		if err != nil {
			t.Fatal(err)
		}
		j := made.Jobs[0]
		if !strings.Contains(j.Reason, want) || strings.Contains(j.Reason, "unmeasured") != strings.Contains(want, "unmeasured") {
			t.Errorf("%d workers: %q, want %q", j.Workers, j.Reason, want)
		}
	}
}
