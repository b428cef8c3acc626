package simulate

import (
	"errors"
	"math"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"knee/allocate"
	"knee/data"
)

// TestFailure: a node that fails at 130 s takes a job back to its checkpoint
// at 120 s and away until it is repaired.
func TestFailure(t *testing.T) {
	c := cluster(1, 2)
	jobs := []Job{rigid(c, "x", 0, 2, 200)}
	down := []Failure{{Node: c.Nodes[0].Name, From: 130, To: 150}}
	for _, tt := range []struct {
		checkpoint, end float64
		why             string
	}{
		{0, 220, "nothing is lost"},
		{60, 230, "10 s since the checkpoint are"},
	} {
		r, err := Run(jobs, Settings{Cluster: c, Policy: mustPolicy(t, "srtf"), Failures: down, Rules: Rules{Checkpoint: tt.checkpoint}})
		if err != nil {
			t.Fatal(err)
		}
		if o := r.Jobs[0]; math.Abs(o.End-tt.end) > 1e-9 || o.Restarts != 1 {
			t.Errorf("%s: %+v, want an end at %g", tt.why, o, tt.end)
		}
	}
	if _, err := Run(jobs, Settings{Cluster: c, Policy: mustPolicy(t, "srtf"), Failures: []Failure{{Node: "other", To: 1}}}); err == nil || !strings.Contains(err.Error(), `"other"`) {
		t.Errorf("error %v", err)
	}
}

// TestFailureLosesWhatWasDone: a job does 1 sample/s for 500 s and 10 samples/s
// from there on. At 590 s, 90 s after its last checkpoint at the slow speed, its
// node fails: the 500 samples of the ten minutes without a checkpoint are what
// it may lose with the 900 done since, not 590 s at the present speed.
func TestFailureLosesWhatWasDone(t *testing.T) {
	c := cluster(1, 1)
	j := rigid(c, "x", 0, 1, 5000)
	truth := func(_ *Job, _ data.Config, done float64) (float64, error) {
		if done < 500 {
			return 1, nil
		}
		return 10, nil
	}
	// An arrival at 500 s makes the replay ask for the speed again.
	other := rigid(c, "later", 500, 1, 1)
	for _, tt := range []struct{ checkpoint, lost float64 }{{600, 1400}, {400, 1000}, {0, 0}} {
		r, err := Run([]Job{j, other}, Settings{Cluster: c, Policy: mustPolicy(t, "fifo"), Truth: truth, Rules: Rules{Checkpoint: tt.checkpoint},
			Failures: []Failure{{Node: c.Nodes[0].Name, From: 590, To: 600}}})
		if err != nil {
			t.Fatal(err)
		}
		if got := r.Jobs[0].Lost; math.Abs(got-tt.lost) > 1e-9 {
			t.Errorf("checkpoints every %g s: %g samples lost, want %g", tt.checkpoint, got, tt.lost)
		}
	}
}

// TestOverlappingOutages: a node is back when the last of its outages ends.
func TestOverlappingOutages(t *testing.T) {
	c := cluster(1, 1)
	r, err := Run([]Job{rigid(c, "x", 0, 1, 100)}, Settings{Cluster: c, Policy: mustPolicy(t, "srtf"),
		Failures: []Failure{{Node: c.Nodes[0].Name, From: 10, To: 200}, {Node: c.Nodes[0].Name, From: 20, To: 50}}})
	if err != nil {
		t.Fatal(err)
	}
	if end := r.Jobs[0].End; end != 290 {
		t.Errorf("ends at %g s, want 290: 10 s of work, back at 200, 90 s of work", end)
	}
}

// TestRandomFailures: no node fails while it is down, and a seed gives the
// same failures.
func TestRandomFailures(t *testing.T) {
	c := cluster(5, 1)
	a, b := RandomFailures(c, 1000, 300, 50000, 1), RandomFailures(c, 1000, 300, 50000, 1)
	last := map[string]float64{}
	for i, f := range a {
		if f != b[i] || f.From < last[f.Node] || f.To != f.From+300 {
			t.Fatalf("failure %d: %+v and %+v, the node was down until %g", i, f, b[i], last[f.Node])
		}
		last[f.Node] = f.To
	}
	if want := 5 * 50000.0 / 1300; math.Abs(float64(len(a))-want) > 0.3*want {
		t.Errorf("%d failures, want about %.0f", len(a), want)
	}
}

// TestLargerClusterNeverRaisesSRTF: with jobs of one GPU, a GPU more never
// raises the mean completion time under srtf.
func TestLargerClusterNeverRaisesSRTF(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		gpus := rapid.IntRange(1, 5).Draw(t, "gpus")
		count := rapid.IntRange(1, 12).Draw(t, "jobs")
		submit := rapid.SliceOfN(rapid.IntRange(0, 200), count, count).Draw(t, "submit")
		work := rapid.SliceOfN(rapid.IntRange(1, 300), count, count).Draw(t, "work")
		mean := func(gpus int) float64 {
			c := cluster(1, gpus)
			var jobs []Job
			for i := range count {
				jobs = append(jobs, rigid(c, string(rune('a'+i)), float64(submit[i]), 1, float64(work[i])))
			}
			r, err := Run(jobs, Settings{Cluster: c, Policy: mustPolicy(t, "srtf")})
			if err != nil {
				t.Fatal(err)
			}
			return r.Summary.JCTMean
		}
		if small, large := mean(gpus), mean(gpus+1); large > small*(1+1e-9) {
			t.Fatalf("mean JCT %g s on %d GPUs, %g s on %d", small, gpus, large, gpus+1)
		}
	})
}

// greedy hands out every option at once.
type greedy struct{}

func (greedy) Allocate(s allocate.State) (allocate.Assignment, error) {
	return allocate.Assignment{Choice: make([]int, len(s.Jobs))}, nil
}

// TestOverAllocationIsStopped: a policy that hands a GPU out twice is stopped.
func TestOverAllocationIsStopped(t *testing.T) {
	c := cluster(1, 1)
	_, err := Run([]Job{rigid(c, "x", 0, 1, 10), rigid(c, "y", 0, 1, 10)}, Settings{Cluster: c, Policy: greedy{}})
	if err == nil || !strings.Contains(err.Error(), "uses 2 of GPUs") || !strings.Contains(err.Error(), "policy simulate.greedy") {
		t.Errorf("error %v", err)
	}
}

// broken knows no answer.
type broken struct{}

func (broken) Allocate(allocate.State) (allocate.Assignment, error) {
	return allocate.Assignment{}, errors.New("no answer")
}

// TestErringPolicyIsStopped: with its name, and when.
func TestErringPolicyIsStopped(t *testing.T) {
	c := cluster(1, 1)
	_, err := Run([]Job{rigid(c, "x", 3, 1, 10)}, Settings{Cluster: c, Policy: broken{}})
	if err == nil || !strings.Contains(err.Error(), "policy simulate.broken at 3 s: no answer") {
		t.Errorf("error %v", err)
	}
}

func TestGenerator(t *testing.T) {
	g := Generator{Count: 2000, Hours: 48, Diurnal: 0.8, MedianSeconds: 600, Sigma: 1, Mix: []Weight{{"a", 3}, {"b", 1}}, GPUs: []Weight{{"2", 1}}, Seed: 7}
	jobs, err := g.Jobs()
	if err != nil {
		t.Fatal(err)
	}
	again, err := g.Jobs()
	if err != nil {
		t.Fatal(err)
	}
	apps, day, below := 0, 0, 0
	for i, j := range jobs {
		if j.Name != again[i].Name || j.Submit != again[i].Submit || j.Work != again[i].Work || i > 0 && j.Submit < jobs[i-1].Submit || j.Workers != 2 {
			t.Fatalf("job %d: %+v, again %+v", i, j, again[i])
		}
		if j.Application == "a" {
			apps++
		}
		if h := math.Mod(j.Submit/3600, 24); h >= 6 && h < 18 {
			day++
		}
		if j.Work < 600 {
			below++
		}
	}
	if math.Abs(float64(apps)-1500) > 100 || day < 1300 || math.Abs(float64(below)-1000) > 100 {
		t.Errorf("%d of 2000 are a, %d come by day, %d are shorter than the median", apps, day, below)
	}
	g.GPUs = []Weight{{"1", 99}, {"two", 1}}
	if _, err := g.Jobs(); err == nil || !strings.Contains(err.Error(), `found size "two"`) {
		t.Errorf("error %v, want the size that is no number", err)
	}
	for _, bad := range []Generator{{}, {Count: 1, Hours: 1, MedianSeconds: 1, Mix: []Weight{{"a", 1}}, GPUs: []Weight{{"x", 1}}}} {
		if _, err := bad.Jobs(); err == nil {
			t.Errorf("%+v is taken", bad)
		}
	}
}
