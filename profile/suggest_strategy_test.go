package profile_test

import (
	"errors"
	"math"
	"strings"
	"testing"
	"time"

	"knee/bayesopt"
	"knee/data"
	"knee/fit"
	"knee/profile"
	"knee/profile/space"
)

// trueTime is a job of 0.3 ms per sample whose workers synchronise: 20 ms
// inside a node, and 60 ms per further node.
func trueTime(c data.Config) float64 {
	sync := 0.0
	if c.Workers > 1 {
		sync = 0.02 + 0.06*float64(c.NodeCount()-1)
	}
	return 0.01 + 3e-4*c.LocalBatch + sync
}

func measured(c data.Config) data.Measurement {
	return data.Measurement{Config: c, Status: data.OK, StepTime: trueTime(c), Steps: 50, Wall: 60}
}

// speedStudy is searched for the most throughput.
func speedStudy() *data.Study {
	s := studyOf(knob("workers", "1", "2", "4", "8", "12", "16"), knob("nodes", "1", "2", "4"), ranged("local_batch", 8, 256, "log2"), knob("gpu_type", "t4"))
	s.Constraints = []string{"workers <= 4 * nodes", "workers >= nodes"}
	s.Objective = data.Objective{Maximize: "throughput"}
	s.Launcher = data.LauncherSpec{Replay: &data.ReplaySpec{Table: "t.csv"}} // repeats agree
	return s
}

// search suggests and measures until the strategy stops; it returns the
// number of trials, and how many of them it took to come within 5 %.
func search(t *testing.T, s *data.Study, strategy bayesopt.Strategy) (stopped, found int) {
	t.Helper()
	candidates, err := space.Candidates(s)
	if err != nil {
		t.Fatal(err)
	}
	best := 0.0
	for _, c := range candidates {
		best = math.Max(best, measured(c).Throughput())
	}
	h := bayesopt.History{Candidates: candidates}
	for len(h.Measured) < len(candidates) {
		next, err := strategy.Next(h)
		if err != nil {
			t.Fatal(err)
		}
		if next.Stop {
			break
		}
		m := measured(next.Config)
		h.Measured = append(h.Measured, m)
		if found == 0 && m.Throughput() >= 0.95*best {
			found = len(h.Measured)
		}
	}
	return len(h.Measured), found
}

// With the speed forms a search ends sooner than without them, with as good a
// result.
func TestSpeedFormsHelp(t *testing.T) {
	s := speedStudy()
	with, without := 0, 0
	for seed := range int64(4) {
		s.Seed = seed
		informed, err := profile.NewStrategy(s, profile.Search{}, nil)
		if err != nil {
			t.Fatal(err)
		}
		ignorant, err := bayesopt.NewGuided(bayesopt.Options{Objective: bayesopt.Throughput, Seed: seed})
		if err != nil {
			t.Fatal(err)
		}
		stopped, found := search(t, s, informed)
		if found == 0 {
			t.Errorf("seed %d: stopped after %d trials without having come within 5 %%", seed, stopped)
		}
		with += stopped
		stopped, _ = search(t, s, ignorant)
		without += stopped
	}
	if with >= without {
		t.Errorf("%d trials with the forms of package fit, %d without", with, without)
	}
}

// A search warm-started from a model of the same job is shorter; a model that
// cannot predict the candidates is an error.
func TestWarmStart(t *testing.T) {
	s := speedStudy()
	candidates, err := space.Candidates(s)
	if err != nil {
		t.Fatal(err)
	}
	var before []data.Measurement
	for i := 0; i < len(candidates); i += 3 {
		before = append(before, measured(candidates[i]))
	}
	model, err := fit.Fit(before, fit.Settings{})
	if err != nil {
		t.Fatal(err)
	}
	warm, err := profile.NewStrategy(s, profile.Search{Warm: model}, nil)
	if err != nil {
		t.Fatal(err)
	}
	stopped, found := search(t, s, warm)
	if found == 0 || found > 4 {
		t.Errorf("within 5 %% after %d of %d trials, want the first after the start", found, stopped)
	}
	s.Space[3] = knob("gpu_type", "a100")
	var bad *data.InputError
	if _, err := profile.NewStrategy(s, profile.Search{Warm: model}, nil); !errors.As(err, &bad) || !strings.Contains(err.Error(), "a100") {
		t.Errorf("a model of another GPU type: %v", err)
	}
}

// A configuration that misses the deadline is not chosen, however cheap.
func TestStudyDeadline(t *testing.T) {
	s := speedStudy()
	s.PricePerHour = map[string]float64{"t4": 1}
	s.Objective = data.Objective{Minimize: "cost_to_target", Deadline: time.Hour}
	var bad *data.InputError
	if _, err := profile.NewStrategy(s, profile.Search{}, nil); !errors.As(err, &bad) || bad.Source.Column != "objective.deadline" {
		t.Fatalf("a deadline without work: %v", err)
	}
	// 16 workers do up to 22,000 samples/s, one alone at most 3,100.
	s.Objective.Samples = 36e6
	strategy, err := profile.NewStrategy(s, profile.Search{}, nil)
	if err != nil {
		t.Fatal(err)
	}
	candidates, err := space.Candidates(s)
	if err != nil {
		t.Fatal(err)
	}
	h := bayesopt.History{Candidates: candidates}
	for {
		next, err := strategy.Next(h)
		if err != nil {
			t.Fatal(err)
		}
		if next.Stop {
			if next.Best < 0 || measured(candidates[next.Best]).Throughput() < 36e6/3600 {
				t.Errorf("stops with %d: %s", next.Best, next.Reason)
			}
			return
		}
		h.Measured = append(h.Measured, measured(next.Config))
	}
}

// Several suggestions at once: no more than are worth a trial before the first are
// measured, and nothing is said to be the best before.
func TestSuggestSeveral(t *testing.T) {
	s := studyOf(knob("workers", "1", "2", "4", "8", "16", "32"), knob("local_batch", "32"))
	s.Objective = data.Objective{Maximize: "throughput"}
	candidates, err := space.Candidates(s)
	if err != nil {
		t.Fatal(err)
	}
	times := map[int]float64{1: .1, 2: .105, 4: .111, 8: .118}
	var history []data.Measurement
	for _, c := range candidates {
		if times[c.Workers] > 0 {
			history = append(history, data.Measurement{Config: c, Status: data.OK, StepTime: times[c.Workers]})
		}
	}
	next, err := profile.Suggest(s, profile.Search{}, history, nil, 4)
	if err != nil || len(next) != 2 || next[0].Stop || next[1].Stop {
		t.Errorf("%+v, %v; want 16 and 32 workers", next, err)
	}
}

// For 256 workers, a precision that was never tried is tried on few: its effect there is
// that at 256.
func TestTargetVariesAWord(t *testing.T) {
	s := studyOf(knob("workers", "1", "2", "4", "8", "16", "32", "256"), knob("local_batch", "32", "64"), knob("prec", "bf16", "fp32"))
	s.Objective = data.Objective{Maximize: "throughput", At: map[string]string{"workers": "256"}, Measure: map[string]string{"workers": "<= 32"}}
	var history []data.Measurement
	for _, c := range []data.Config{{Workers: 1, LocalBatch: 32}, {Workers: 1, LocalBatch: 64}, {Workers: 8, LocalBatch: 64}, {Workers: 32, LocalBatch: 64}, {Workers: 16, LocalBatch: 64}} {
		c.Job, c.Extra = s.Job, map[string]string{"prec": "fp32"}
		history = append(history, data.Measurement{Config: c, Status: data.OK, StepTime: .02 + .009*c.LocalBatch + .01*math.Log(float64(c.Workers))})
	}
	next, err := profile.Suggest(s, profile.Search{}, history, nil, 1)
	if err != nil || len(next) != 1 || next[0].Config.Extra["prec"] != "bf16" {
		t.Errorf("%+v, %v; want bf16 on some number of workers", next, err)
	}
}

// Where no trial is worth the cost of a failure, the next one is not the safest candidate,
// which may be slow, nor a repetition that cannot change the choice.
func TestHopelessTrials(t *testing.T) {
	for seed := range int64(4) {
		s := studyOf(knob("workers", "1", "2", "4", "8", "16", "32"), knob("local_batch", "8", "16", "32", "64", "128", "256"))
		s.Objective, s.Budget.Trials, s.Seed = data.Objective{Maximize: "throughput"}, 25, seed
		var history []data.Measurement
		for _, m := range []struct {
			workers        int
			batch, seconds float64
		}{{1, 8, .0247}, {1, 256, 0}, {1, 64, .1431}, {32, 8, .1261}, {32, 64, .2389}, {32, 128, 0}, {32, 32, .1677}, {32, 256, 0}} {
			r := data.Measurement{Config: data.Config{Job: s.Job, Workers: m.workers, LocalBatch: m.batch}, Status: data.OK, StepTime: m.seconds, StepTimeSE: .003 * m.seconds}
			if m.seconds == 0 {
				r.Status = data.OOM
			}
			history = append(history, r)
		}
		next, err := profile.Suggest(s, profile.Search{}, history, nil, 3)
		if err != nil {
			t.Fatal(err)
		}
		for _, n := range next {
			if n.Stop || n.Remeasure || n.Expected.Mean < 32*64/.2389/4 {
				t.Errorf("seed %d: %s, %.3g samples/s: %s; want a new candidate at least a quarter as fast as the best", seed, n.Config, n.Expected.Mean, n.Reason)
			}
		}
	}
}
