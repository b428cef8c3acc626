package sampler

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"sync"
	"testing"

	"github.com/c-bata/goptuna"

	"knee/bayesopt"
	"knee/data"
)

// optimise runs a goptuna study and returns the best value.
func optimise(t *testing.T, f goptuna.FuncObjective, trials int, opts ...goptuna.StudyOption) *goptuna.Study {
	t.Helper()
	study, err := goptuna.CreateStudy("test", append(opts, goptuna.StudyOptionLogger(nil))...)
	if err != nil {
		t.Fatal(err)
	}
	if err := study.Optimize(f, trials); err != nil {
		t.Fatal(err)
	}
	return study
}

var braninSpace = map[string]interface{}{
	"x": goptuna.UniformDistribution{Low: -5, High: 10},
	"y": goptuna.UniformDistribution{Low: 0, High: 15},
}

// branin is the Branin test function, minimum 0.397887 (Surjanovic and Bingham,
// Virtual Library of Simulation Experiments).
func branin(trial goptuna.Trial) (float64, error) {
	x, err := trial.SuggestFloat("x", -5, 10)
	if err != nil {
		return 0, err
	}
	y, err := trial.SuggestFloat("y", 0, 15)
	if err != nil {
		return 0, err
	}
	a := y - 5.1/(4*math.Pi*math.Pi)*x*x + 5/math.Pi*x - 6
	return a*a + 10*(1-1/(8*math.Pi))*math.Cos(x) + 10, nil
}

func TestSamplerBeatsRandomOnBranin(t *testing.T) {
	const seeds, trials = 3, 22
	var ours, random []float64
	for seed := range int64(seeds) {
		a, err := optimise(t, branin, trials, goptuna.StudyOptionRelativeSampler(NewSampler(seed)),
			goptuna.StudyOptionDefineSearchSpace(braninSpace)).GetBestValue()
		if err != nil {
			t.Fatal(err)
		}
		b, err := optimise(t, branin, trials, goptuna.StudyOptionSampler(goptuna.NewRandomSampler(goptuna.RandomSamplerOptionSeed(seed)))).GetBestValue()
		if err != nil {
			t.Fatal(err)
		}
		ours, random = append(ours, a-0.397887), append(random, b-0.397887)
	}
	if a, b := median(ours), median(random); a > 0.1 || a > 0.1*b {
		t.Errorf("median regret %.3g, random %.3g; want at most 0.1 and a tenth of random", a, b)
	}
}

// mixedSpace has one parameter of each kind.
var mixedSpace = map[string]interface{}{
	"opt":   goptuna.CategoricalDistribution{Choices: []string{"sgd", "adam", "lamb"}},
	"batch": goptuna.DiscreteUniformDistribution{Low: 0, High: 7, Q: 1},
	"depth": goptuna.IntUniformDistribution{Low: 1, High: 4},
	"heads": goptuna.StepIntUniformDistribution{Low: 2, High: 8, Step: 2},
}

func mixed(trial goptuna.Trial) (float64, error) {
	opt, err := trial.SuggestCategorical("opt", []string{"sgd", "adam", "lamb"})
	if err != nil {
		return 0, err
	}
	batch, err := trial.SuggestDiscreteFloat("batch", 0, 7, 1)
	if err != nil {
		return 0, err
	}
	depth, err := trial.SuggestInt("depth", 1, 4)
	if err != nil {
		return 0, err
	}
	heads, err := trial.SuggestStepInt("heads", 2, 8, 2)
	if err != nil {
		return 0, err
	}
	bonus := map[string]float64{"sgd": 0, "adam": 1, "lamb": 0.3}[opt]
	return 10 + bonus - 0.1*(batch-5)*(batch-5) - 0.2*math.Abs(float64(depth-4)) - 0.05*float64(8-heads), nil
}

// On a discrete table of 384 points the sampler maximises, proposes upper
// bounds, repeats nothing, and beats random search.
func TestSamplerDiscrete(t *testing.T) {
	var ours, random []float64
	for seed := range int64(3) {
		study := optimise(t, mixed, 20, goptuna.StudyOptionRelativeSampler(NewSampler(seed)),
			goptuna.StudyOptionDefineSearchSpace(mixedSpace), goptuna.StudyOptionDirection(goptuna.StudyDirectionMaximize))
		trials, _ := study.GetTrials()
		seen := map[string]bool{}
		for _, tr := range trials {
			key := fmt.Sprint(tr.Params)
			if seen[key] {
				t.Errorf("seed %d: %s was tried twice", seed, key)
			}
			seen[key] = true
		}
		a, _ := study.GetBestValue()
		b, _ := optimise(t, mixed, 20, goptuna.StudyOptionDirection(goptuna.StudyDirectionMaximize),
			goptuna.StudyOptionSampler(goptuna.NewRandomSampler(goptuna.RandomSamplerOptionSeed(seed)))).GetBestValue()
		ours, random = append(ours, 11-a), append(random, 11-b)
	}
	if a, b := median(ours), median(random); a > 0.1 || a >= b {
		t.Errorf("median regret %.3g, random %.3g; want at most 0.1 and less than random", a, b)
	}
}

// A finite space is exhausted before a repeat, also with failures and values
// that are not numbers; then sampling goes on.
func TestSamplerNeverFails(t *testing.T) {
	space := map[string]interface{}{"i": goptuna.DiscreteUniformDistribution{Low: 0, High: 9, Q: 1}, "one": goptuna.IntUniformDistribution{Low: 3, High: 3}}
	count := map[float64]int{}
	optimise(t, func(trial goptuna.Trial) (float64, error) {
		i, err := trial.SuggestDiscreteFloat("i", 0, 9, 1)
		if err != nil {
			t.Fatal(err)
		}
		count[i]++
		switch {
		case i == 3:
			return math.NaN(), nil
		case i == 4:
			return math.Inf(1), nil
		case i == 5:
			return 0, errors.New("crash")
		}
		return i, nil
	}, 12, goptuna.StudyOptionRelativeSampler(NewSampler(1)),
		goptuna.StudyOptionDefineSearchSpace(space), goptuna.StudyOptionIgnoreError(true))
	if len(count) != 10 {
		t.Errorf("12 trials reached %d of 10 points: %v", len(count), count)
	}
	if v, err := NewSampler(0).SampleRelative(nil, goptuna.FrozenTrial{}, nil); v != nil || err != nil {
		t.Errorf("empty space: %v, %v, want nothing", v, err)
	}
	if _, err := NewSampler(0).SampleRelative(nil, goptuna.FrozenTrial{}, map[string]interface{}{"x": 1}); !errors.Is(err, goptuna.ErrUnsupportedSearchSpace) {
		t.Errorf("unknown distribution: %v, want ErrUnsupportedSearchSpace", err)
	}
}

// Several goroutines share a study, and do not repeat each other's trials.
func TestSamplerParallel(t *testing.T) {
	study, err := goptuna.CreateStudy("parallel", goptuna.StudyOptionLogger(nil), goptuna.StudyOptionDefineSearchSpace(mixedSpace),
		goptuna.StudyOptionRelativeSampler(NewSampler(2)))
	if err != nil {
		t.Fatal(err)
	}
	var wg sync.WaitGroup
	for range 3 {
		wg.Go(func() {
			if err := study.Optimize(mixed, 5); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	trials, err := study.GetTrials()
	points := map[string]bool{}
	for _, tr := range trials {
		points[fmt.Sprint(tr.Params)] = true
	}
	if err != nil || len(points) != 15 {
		t.Errorf("15 trials reached %d points (%v), want as many", len(points), err)
	}
}

// table is a grid of candidates.
func table() []data.Config {
	var cands []data.Config
	for _, k := range []int{1, 2, 4, 8, 16} {
		for _, b := range []float64{16, 32, 64, 128} {
			cands = append(cands, data.Config{GPUType: "t4", Workers: k, Nodes: (k + 3) / 4, LocalBatch: b})
		}
	}
	return cands
}

func measure(c data.Config) data.Measurement {
	return data.Measurement{Config: c, Status: data.OK, StepTime: 0.02 + c.LocalBatch/300 + 0.03*float64(c.Workers)}
}

func median(v []float64) float64 { return slices.Sorted(slices.Values(v))[len(v)/2] }

// The tracker records natural values, directions and failures.
func TestTracker(t *testing.T) {
	cands := table()
	tr, err := NewTracker("study", cands, bayesopt.Options{Objective: bayesopt.Throughput}, goptuna.NewInMemoryStorage())
	if err != nil {
		t.Fatal(err)
	}
	h := bayesopt.History{Candidates: cands, Running: cands[5:6], Measured: []data.Measurement{measure(cands[0]), measure(cands[19]), {Config: cands[7], Status: data.OOM}}}
	for _, m := range append(h.Measured, data.Measurement{Config: h.Running[0]}) {
		id, err := tr.Start(m.Config)
		if err == nil && m.Status != "" {
			err = tr.Finish(id, m)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	trials, err := tr.Study().GetTrials()
	if err != nil {
		t.Fatal(err)
	}
	var states []goptuna.TrialState
	for _, x := range trials {
		states = append(states, x.State)
	}
	if want := []goptuna.TrialState{goptuna.TrialStateComplete, goptuna.TrialStateComplete, goptuna.TrialStateFail, goptuna.TrialStateRunning}; !slices.Equal(states, want) {
		t.Errorf("states %v, want %v", states, want)
	}
	best, err := tr.Study().GetBestValue()
	if want := h.Measured[1].Throughput(); err != nil || math.Abs(best-want) > 1e-9*want {
		t.Errorf("best value %g (%v), want %g samples/s", best, err, want)
	}
	if got := trials[1].InternalParams["workers"]; got != 4 {
		t.Errorf("16 workers are ordinal %g, want 4", got)
	}
	if _, err := tr.Start(data.Config{Workers: 3}); err == nil {
		t.Error("a trial of a configuration outside the table is accepted")
	}
}

func ExampleSampler() {
	space := map[string]interface{}{
		"lr":    goptuna.LogUniformDistribution{Low: 1e-4, High: 1},
		"batch": goptuna.DiscreteUniformDistribution{Low: 0, High: 4, Q: 1},
	}
	study, err := goptuna.CreateStudy("example",
		goptuna.StudyOptionLogger(nil),
		goptuna.StudyOptionDirection(goptuna.StudyDirectionMaximize),
		goptuna.StudyOptionDefineSearchSpace(space), // required, see Sampler
		goptuna.StudyOptionRelativeSampler(NewSampler(1)),
	)
	if err != nil {
		fmt.Println(err)
		return
	}
	err = study.Optimize(func(trial goptuna.Trial) (float64, error) {
		lr, err := trial.SuggestLogFloat("lr", 1e-4, 1)
		if err != nil {
			return 0, err
		}
		batch, err := trial.SuggestDiscreteFloat("batch", 0, 4, 1)
		if err != nil {
			return 0, err
		}
		off := math.Log10(lr) + 2 // best at 0.01
		return 1 - 0.1*off*off - 0.05*math.Abs(batch-3), nil
	}, 25)
	if err != nil {
		fmt.Println(err)
		return
	}
	best, err := study.GetBestValue()
	if err != nil {
		fmt.Println(err)
		return
	}
	params, err := study.GetBestParams()
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Printf("%.2f at batch index %v\n", best, params["batch"])
	// Output:
	// 1.00 at batch index 3
}
