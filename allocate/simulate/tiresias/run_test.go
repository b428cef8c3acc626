package tiresias

import (
	"fmt"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"knee/allocate/simulate"
)

func gang(name string, submit float64, gpus int, duration float64) simulate.Job {
	return simulate.Job{Name: name, Submit: submit, Workers: gpus, Work: duration, Seconds: true}
}

// run replays a workload on a pool of GPUs.
func run(workload []simulate.Job, gpus int, name string, service []int64) ([]simulate.Outcome, error) {
	policy, err := New(name, service)
	if err != nil {
		return nil, err
	}
	jobs, pool, err := Prepare(workload, gpus)
	if err != nil {
		return nil, err
	}
	r, err := simulate.Run(jobs, simulate.Settings{Cluster: pool, Policy: policy})
	if err != nil {
		return nil, err
	}
	return r.Jobs, nil
}

// TestByHand: small cases worked out on paper.
func TestByHand(t *testing.T) {
	three := []simulate.Job{gang("a", 0, 3, 100), gang("b", 10, 2, 50), gang("c", 20, 1, 30)}
	long := []simulate.Job{gang("x", 0, 1, 4000), gang("y", 100, 1, 100)}
	wide := []simulate.Job{gang("x", 0, 2, 4000), gang("y", 100, 1, 100)}
	for _, tt := range []struct {
		policy string
		gpus   int
		jobs   []simulate.Job
		ends   []float64
		why    string
	}{
		{"fifo", 4, three, []float64{100, 150, 130}, "b blocks c"},
		{"fjf", 4, three, []float64{100, 150, 50}, "c passes b"},
		{"sjf", 4, three, []float64{150, 60, 50}, "b takes a's GPUs at 10"},
		{"shortest", 4, three, []float64{150, 60, 50}, "b has 50 s left, a 90"},
		{"shortest-gpu", 4, three, []float64{150, 60, 50}, "b has 100 GPU-seconds left, a 270"},
		{"dlas", 4, three, []float64{100, 150, 50}, "nobody leaves the first queue"},
		{"dlas", 1, long, []float64{4100, 3350}, "x sinks at 3250 s"},
		// When y comes x has run 100 s, so it is looked at again at
		// 100 + ⌊(3250 − 100)/2⌋ = 1675 s, by when it has 3350 GPU-seconds.
		{"dlas-gpu", 2, wide, []float64{4100, 1775}, "x sinks at 1675 s"},
		// R(100) = 0, as the next sample is out of reach; R(0) = 0.66667e6/1150.
		{"dlas-gpu-gittins", 1, long, []float64{4100, 200}, "y is sooner done"},
	} {
		got, err := run(tt.jobs, tt.gpus, tt.policy, []int64{100, 100, 5000})
		if err != nil {
			t.Fatal(err)
		}
		for i, o := range got {
			if o.End != tt.ends[i] {
				t.Errorf("%s (%s): job %s ends at %g, want %g", tt.policy, tt.why, o.Job, o.End, tt.ends[i])
			}
		}
	}
}

func TestGittinsIndex(t *testing.T) {
	g, err := newGittins([]int64{5000, 100, 100})
	if err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		age  int64
		want float64
	}{{0, 579.7130}, {99, 579.7130}, {100, 0}, {4999, 0}, {5000, 0}} {
		if got := g.index(tt.age); got != tt.want {
			t.Errorf("index(%d) = %g, want %g", tt.age, got, tt.want)
		}
	}
}

// TestEveryJobEnds: at any policy every job runs for its duration and no
// more GPUs are in use than there are.
func TestEveryJobEnds(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		gpus := rapid.IntRange(1, 8).Draw(t, "gpus")
		var jobs []simulate.Job
		for i := range rapid.IntRange(1, 12).Draw(t, "jobs") {
			jobs = append(jobs, gang(fmt.Sprint(i), float64(rapid.IntRange(0, 5000).Draw(t, "submit")),
				rapid.IntRange(1, gpus).Draw(t, "width"), float64(rapid.IntRange(1, 9000).Draw(t, "duration"))))
		}
		policy := rapid.SampledFrom(Policies()).Draw(t, "policy")
		got, err := run(jobs, gpus, policy, []int64{50, 700, 700, 9000})
		if err != nil {
			t.Fatal(err)
		}
		var service, last float64
		for i, o := range got {
			if o.Start < o.Submit || o.End-o.Start < jobs[i].Work {
				t.Fatalf("%s: %+v of %g s", policy, o, jobs[i].Work)
			}
			service += jobs[i].Work * float64(jobs[i].Workers)
			last = max(last, o.End)
		}
		if service > last*float64(gpus) {
			t.Fatalf("%s: %g GPU-seconds in %g s on %d GPUs", policy, service, last, gpus)
		}
	})
}

func TestRunRefuses(t *testing.T) {
	for _, tt := range []struct {
		job    simulate.Job
		policy string
		want   string
	}{
		{gang("j", 0.5, 1, 10), "fifo", "whole seconds"},
		{gang("j", 0, 1, 0), "fifo", "duration"},
		{gang("j", 0, 0, 10), "fifo", "at least one GPU"},
		{gang("j", 0, 9, 10), "fifo", "8 GPUs of the cluster"},
		{gang("j", 0, 1, 10), "drf", "not one of the Tiresias simulator"},
		{gang("j", 0, 1, 10), "tiresias-gittins", "distribution"},
	} {
		if _, err := run([]simulate.Job{tt.job}, 8, tt.policy, nil); err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("error %v, want %q", err, tt.want)
		}
	}
}

func ExamplePrepare() {
	jobs := []simulate.Job{gang("wide", 0, 3, 100), gang("late", 10, 2, 50), gang("small", 20, 1, 30)}
	policy, err := New("fjf", nil)
	if err != nil {
		fmt.Println(err)
		return
	}
	gangs, pool, err := Prepare(jobs, 4)
	if err != nil {
		fmt.Println(err)
		return
	}
	result, err := simulate.Run(gangs, simulate.Settings{Cluster: pool, Policy: policy})
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, o := range result.Jobs {
		fmt.Printf("%s: %g to %g\n", o.Job, o.Start, o.End)
	}
	// Output:
	// wide: 0 to 100
	// late: 100 to 150
	// small: 20 to 50
}
