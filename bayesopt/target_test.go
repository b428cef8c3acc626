package bayesopt

import (
	"errors"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"gonum.org/v1/gonum/mat"
	"gonum.org/v1/gonum/stat"

	"knee/data"
)

// linearRow is the design of a model with two unknown normal numbers: the time at one worker and
// batch 1, and the saving per doubling of the workers. Batches above 1 take a
// known time.
func linearRow(c data.Config) []float64 {
	if c.LocalBatch > 1 {
		return []float64{0, 0}
	}
	return []float64{1, -math.Log2(float64(c.Workers))}
}

const linearNoise = 0.05

// linear is a [JointModel] by Bayesian linear regression.
func linear(measured []data.Measurement, at []data.Config) (ln [][]float64, sd []float64, err error) {
	precision, right := mat.NewSymDense(2, []float64{1, 0, 0, 1}), mat.NewVecDense(2, nil)
	for _, m := range measured {
		x := mat.NewVecDense(2, linearRow(m.Config))
		precision.SymRankOne(precision, 1/(linearNoise*linearNoise), x)
		right.AddScaledVec(right, math.Log(m.StepTime)/(linearNoise*linearNoise), x)
	}
	var chol mat.Cholesky
	chol.Factorize(precision)
	var mean mat.VecDense
	var cov mat.SymDense
	if err := errors.Join(chol.SolveVecTo(&mean, right), chol.InverseTo(&cov)); err != nil {
		return nil, nil, err
	}
	chol.Factorize(&cov)
	var root mat.TriDense
	chol.LTo(&root)
	rng := rand.New(rand.NewPCG(1, 2))
	ln, sd = make([][]float64, len(at)), make([]float64, len(at))
	for range 400 {
		theta := mat.NewVecDense(2, []float64{rng.NormFloat64(), rng.NormFloat64()})
		theta.MulVec(&root, theta)
		theta.AddVec(theta, &mean)
		for i, c := range at {
			ln[i] = append(ln[i], mat.Dot(theta, mat.NewVecDense(2, linearRow(c))))
		}
	}
	for i := range sd {
		sd[i] = linearNoise
	}
	return ln, sd, nil
}

func targetOptions(at, most int) Options {
	return Options{Objective: StepTime, Seed: 1, Model: linear, Target: &Target{At: func(c data.Config) bool { return c.Workers == at },
		Measure: func(c data.Config) bool { return c.Workers <= most }}}
}

// Trials stay in the allowed region, use the size most informative about the
// target, and end when the choice is clear.
func TestTarget(t *testing.T) {
	var cands []data.Config
	for _, w := range []int{1, 2, 4, 8, 64} {
		for _, b := range []float64{1, 2} {
			cands = append(cands, data.Config{Workers: w, LocalBatch: b})
		}
	}
	for _, saves := range []float64{0.4, -0.4} { // makes batch 1 or 2 better on 64
		s, err := NewGuided(targetOptions(64, 8))
		if err != nil {
			t.Fatal(err)
		}
		h, all := run(t, s, cands, 12, func(c data.Config, _ int) data.Measurement {
			return data.Measurement{Config: c, Status: data.OK, StepTime: math.Exp(linearRow(c)[0]*0.3 + linearRow(c)[1]*saves)}
		})
		for k, m := range h.Measured {
			if m.Workers > 8 || k > 0 && m.LocalBatch > 1 && k < 3 {
				t.Errorf("saves %g: trial %d is %s, want one on at most 8 workers whose time is not known", saves, k+1, m.Config)
			}
		}
		if !slices.ContainsFunc(h.Measured[:3], func(m data.Measurement) bool { return m.Workers == 8 }) {
			t.Errorf("saves %g: the largest size is not among the first trials", saves)
		}
		last := all[len(all)-1]
		want := 1.0
		if saves < 0 {
			want = 2
		}
		if !last.Stop || last.Config.Workers != 64 || last.Config.LocalBatch != want || !strings.Contains(last.Reason, "the choice is 64") {
			t.Errorf("saves %g: ends with %+v, want batch %g on 64 workers", saves, last, want)
		}
	}
}

// What was tried in vain is no answer, what may not fit may still be better, and
// conditions that no configuration meets are refused.
func TestTargetFails(t *testing.T) {
	var cands []data.Config
	for _, w := range []int{1, 4} {
		for _, b := range []float64{1, 2} {
			cands = append(cands, data.Config{Workers: w, LocalBatch: b})
		}
	}
	s, err := NewGuided(targetOptions(4, 4))
	if err != nil {
		t.Fatal(err)
	}
	fast := cands[2] // saves half per doubling of the workers
	_, all := run(t, s, cands, 9, func(c data.Config, _ int) data.Measurement {
		if c.Key() == fast.Key() {
			return data.Measurement{Config: c, Status: data.OOM}
		}
		return data.Measurement{Config: c, Status: data.OK, StepTime: math.Exp(linearRow(c)[0]*0.3 + linearRow(c)[1]*.5)}
	})
	if last := all[len(all)-1]; !last.Stop || last.Choice.Key() != cands[3].Key() {
		t.Errorf("ends with %+v, want %s, as the other fails", last, cands[3])
	}
	for column, at := range map[string]int{"objective.at": 3, "objective.measure": 4} {
		o := targetOptions(at, 4)
		if column == "objective.measure" {
			o.Target.Measure = func(data.Config) bool { return false }
		}
		var bad *data.InputError
		if _, err := NewProblem(o, History{Candidates: cands}); !errors.As(err, &bad) || bad.Source.Column != column {
			t.Errorf("%s that nothing meets: %v", column, err)
		}
	}
}

// With two answers the gain is the expected improvement of their difference,
// with the standard deviation that remains.
func TestTargetGain(t *testing.T) {
	rng := rand.New(rand.NewPCG(5, 6))
	known, open, trial := make([]float64, 4000), make([]float64, 4000), make([]float64, 4000)
	const behind, slope, sd = 0.1, 0.8, 0.3
	for d := range known {
		trial[d] = rng.NormFloat64()
		open[d] = behind + slope*trial[d]
	}
	answers := &outlook{wanted: []int{0, 1}, risk: make([]float64, 2), response: [][]float64{known, open}, own: make([]float64, 2), contenders: []int{0, 1}}
	spread := stat.StdDev(trial, nil)
	moves := slope * spread * spread / math.Hypot(spread, sd)
	rest := math.Sqrt(slope*slope*spread*spread - moves*moves)
	want := math.Exp(LogEI(stat.Mean(open, nil)+rest, moves, 0))
	if got := answers.gain(-1, trial, sd); math.Abs(got-want) > 0.02*want { // an average over 32 outcomes
		t.Errorf("gain %g, want %g", got, want)
	}
	if got := answers.gain(-1, trial, 1e6); got > 1e-5 {
		t.Errorf("a trial that tells nothing gains %g", got)
	}
}

// While another is probably better the search goes on, and each candidate's own
// deviation counts.
func TestTargetGoesOn(t *testing.T) {
	o := targetOptions(64, 8)
	scattered := func(measured []data.Measurement, at []data.Config) (ln [][]float64, sd []float64, err error) {
		ln, sd, err = linear(measured, at)
		for i := range sd {
			sd[i] = 0.5
		}
		return ln, sd, err
	}
	o.Model = scattered
	s, err := NewGuided(o)
	if err != nil {
		t.Fatal(err)
	}
	var cands []data.Config
	for _, w := range []int{1, 2, 4, 8, 64} {
		for _, b := range []float64{1, 2} {
			cands = append(cands, data.Config{Workers: w, LocalBatch: b})
		}
	}
	_, all := run(t, s, cands, 12, func(c data.Config, _ int) data.Measurement {
		return data.Measurement{Config: c, Status: data.OK, StepTime: 1}
	})
	last := all[len(all)-1]
	if len(all) != 9 || !strings.Contains(last.Reason, "no candidate is left") || last.Better < 0.2 || last.Answer == "" {
		t.Errorf("ends after %d with %+v, want a trial of all eight and a doubt", len(all)-1, last)
	}
}

// A running trial is taken into account: it is not duplicated.
func TestTargetRunning(t *testing.T) {
	cands := []data.Config{{Workers: 1, LocalBatch: 1}, {Workers: 4, LocalBatch: 1}, {Workers: 8, LocalBatch: 1}, {Workers: 64, LocalBatch: 1}, {Workers: 64, LocalBatch: 2}}
	s, err := NewGuided(targetOptions(64, 8))
	if err != nil {
		t.Fatal(err)
	}
	h := History{Candidates: cands, Measured: []data.Measurement{{Config: cands[0], Status: data.OK, StepTime: 1}}}
	first, err := s.Next(h)
	if err != nil {
		t.Fatal(err)
	}
	h.Running = []data.Config{first.Config}
	second, err := s.Next(h)
	if err != nil || second.Config.Key() == first.Config.Key() {
		t.Errorf("after %s, which runs, %s (%v)", first.Config, second.Config, err)
	}
	if first.Config.Workers != 8 {
		t.Errorf("first %s, want the largest size, which tells most", first.Config)
	}
}

// late is a model that needs three trials.
func late(measured []data.Measurement, at []data.Config) (ln [][]float64, sd []float64, err error) {
	if len(measured) < 3 {
		return nil, nil, errors.New("too few")
	}
	return linear(measured, at)
}

// While the model cannot predict, trials are spread.
func TestTargetBeforeTheModel(t *testing.T) {
	o := targetOptions(16, 8)
	o.Model = late
	s, err := NewGuided(o)
	if err != nil {
		t.Fatal(err)
	}
	_, all := run(t, s, table("t4"), 4, func(c data.Config, _ int) data.Measurement { return measure(c) })
	if len(all) != 4 || !strings.Contains(all[2].Reason, "too few") || all[3].Choice.Workers != 16 {
		t.Errorf("%+v, want three spread trials and then a choice on 16 workers", all)
	}
}

func TestTargetErrors(t *testing.T) {
	for want, change := range map[string]func(*Options){
		"no model": func(o *Options) { o.Model = nil },
		"accuracy": func(o *Options) { o.Objective = Accuracy },
		"deadline": func(o *Options) { o.Deadline = 3 },
	} {
		o := targetOptions(64, 8)
		change(&o)
		if _, err := NewGuided(o); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want an error with %q", err, want)
		}
	}
	s, err := NewGuided(targetOptions(128, 8))
	if err != nil {
		t.Fatal(err)
	}
	var input *data.InputError
	_, err = s.Next(History{Candidates: table("t4"), Measured: []data.Measurement{measure(table("t4")[0])}})
	if !errors.As(err, &input) || input.Source.Column != "objective.at" {
		t.Errorf("nothing on 128 workers: %v", err)
	}
}
