package bayesopt

import (
	"math"
	"math/rand/v2"
	"sync/atomic"
	"testing"

	"gonum.org/v1/gonum/stat"
	"gonum.org/v1/gonum/stat/distuv"

	"knee/data"
)

// The record of one draw is the standardised difference of every response from
// the prediction by those before it.
func TestRecordIsThePredictionBefore(t *testing.T) {
	rng := rand.New(rand.NewPCG(4, 2))
	x, y := randomData(rng, 9, 2)
	centred := make([]float64, len(y))
	for i := range y {
		centred[i] = y[i] - stat.Mean(y, nil)
	}
	h := Prior{Jumps: true}.draw(2, rng)
	all, err := condition(x, centred, nil, 0, h)
	if err != nil {
		t.Fatal(err)
	}
	got := newRecord([]weighted{all.marginalised(nil)}, nil)
	for i := recordFrom; i < len(y); i++ {
		before, err := condition(x[:i], centred[:i], nil, 0, h)
		if err != nil {
			t.Fatal(err)
		}
		before.marginalised(nil) // sets σ²
		mu, v := before.Predict(x[i])
		freedom := 2*sigmaShape + float64(i)
		z := (centred[i] - mu) / math.Sqrt(v+before.NoiseVariance())
		want := distuv.UnitNormal.Quantile(distuv.StudentsT{Sigma: 1, Nu: freedom}.CDF(z))
		if math.Abs(got[i-recordFrom]-want) > 1e-6*(1+math.Abs(want)) && math.Abs(want) < 5 {
			t.Errorf("trial %d: score %g, conditioning on those before it gives %g", i, got[i-recordFrom], want)
		}
	}
}

// Results as predicted keep the widths; surprises widen them.
func TestRecordWidth(t *testing.T) {
	if w := (record{}).width(4); w != 1 {
		t.Errorf("without a record the width is %g, want 1", w)
	}
	if w := (record{1, -1, 1, -1}).width(4); math.Abs(w-1) > 1e-12 {
		t.Errorf("scores of one give %g, want 1", w)
	}
	if w := (record{3, -3, 3, -3}).width(4); w < 1.5 {
		t.Errorf("scores of three give %g, want clearly more than 1", w)
	}
}

// Good predictions narrow none, as they are of candidates that the search
// prefers.
func TestRecordNeverNarrows(t *testing.T) {
	cands := table("a100")
	h := History{Candidates: cands}
	for _, c := range cands[:12] {
		h.Measured = append(h.Measured, data.Measurement{Config: c, Status: data.OK, StepTime: 1})
	}
	post, err := mustProblem(t, Options{Objective: StepTime}, h).learn()
	if err != nil {
		t.Fatal(err)
	}
	if raw := post.record.width(2); raw >= 1 || post.width != 1 {
		t.Errorf("equal times give a record of width %g, and predictions of width %g; want less than 1, and 1", raw, post.width)
	}
}

// A bound above the prediction is a surprise, one below it no score.
func TestRecordOfBounds(t *testing.T) {
	x, y := [][]float64{{0}, {0.5}, {1}}, []float64{0, 0, 3}
	g, err := condition(x, y, nil, 0, Prior{}.at(make([]float64, 2)))
	if err != nil {
		t.Fatal(err)
	}
	draws := []weighted{g.marginalised(nil)}
	if r := newRecord(draws, []float64{0, 0, 1}); len(r) != 1 || r[0] < 1 || r[0] > newRecord(draws, nil)[0] {
		t.Errorf("a bound of two gives %v, want a surprise, smaller than of a time of three", r)
	}
	if r := newRecord(draws, []float64{0, 0, 4}); len(r) != 0 {
		t.Errorf("a bound of less than expected gives %v, want no score", r)
	}
}

// That a configuration takes as long as before is no evidence that others are
// as predicted.
func TestRepetitionsAreNoEvidence(t *testing.T) {
	var h History
	h.Candidates = append(h.Candidates, table("t4", "a100")...)
	for _, i := range []int{0, 7, 19, 33} {
		h.Measured = append(h.Measured, measure(h.Candidates[i]))
	}
	sureness := func() (int, float64) {
		post, err := mustProblem(t, Options{Noisy: true}, h).learn()
		if err != nil {
			t.Fatal(err)
		}
		var scale float64
		for _, m := range post.members {
			scale += m.share * m.gp.sigma2
		}
		return len(post.record), scale
	}
	scores, scale := sureness()
	for range 4 {
		h.Measured = append(h.Measured, h.Measured[3])
	}
	if n, after := sureness(); n != scores || after < 0.5*scale {
		t.Errorf("after four repetitions %d scores and σ² %.3g, before %d and %.3g", n, after, scores, scale)
	}
}

// A form that fits every trial once it is known, but foretells none, is not
// believed: its predictions are as wide as its errors.
func TestFormsCountAsTheyForetell(t *testing.T) {
	hindsight := func(measured []data.Measurement) (func(data.Config) (float64, bool), error) {
		if len(measured) < 2 {
			return nil, nil
		}
		return func(c data.Config) (float64, bool) {
			for _, m := range measured {
				if m.Key() == c.Key() {
					return math.Log(m.StepTime), true
				}
			}
			return math.Log(measured[0].StepTime), true
		}, nil
	}
	rng := rand.New(rand.NewPCG(3, 1))
	h := History{Candidates: table("a100", "t4")}
	for _, i := range rng.Perm(40)[:9] {
		h.Measured = append(h.Measured, data.Measurement{Config: h.Candidates[i], Status: data.OK, StepTime: math.Exp(rng.NormFloat64())})
	}
	p := mustProblem(t, Options{Objective: StepTime, Forms: []MeanForm{hindsight}}, h)
	post, err := p.learn()
	if err != nil {
		t.Fatal(err)
	}
	for _, i := range p.Open() {
		if _, sd := p.belief(post, i).Moments(); sd < 0.4 {
			t.Errorf("%s is known to %.2g nats, where nothing is foretold to better than 1", p.cands[i], sd)
		}
	}
}

// What one or two trials tell of other batches and workers is little: the first
// predictions hold from no dependence to proportional times.
func TestFirstPredictions(t *testing.T) {
	for _, power := range []float64{0, 1} {
		time := func(c data.Config) float64 { return math.Pow(c.LocalBatch*float64(c.Workers), power) }
		h := History{Candidates: table("t4")}
		for _, i := range []int{0, 3} {
			h.Measured = append(h.Measured, data.Measurement{Config: h.Candidates[i], Status: data.OK, StepTime: time(h.Candidates[i])})
			p := mustProblem(t, Options{Objective: StepTime}, h)
			post, err := p.learn()
			if err != nil {
				t.Fatal(err)
			}
			for _, k := range p.Open() {
				e := p.Options.Objective.estimate(p.belief(post, k))
				if v := time(p.cands[k]); v < e.Lo || v > e.Hi {
					t.Errorf("after %d trials %s takes %g, expected %.3g to %.3g", len(h.Measured), p.cands[k], v, e.Lo, e.Hi)
				}
			}
		}
	}
}

// Every trial is foreseen by a fit to most of those before it and no other, and the
// fits of a suggestion are few.
func TestForeseen(t *testing.T) {
	trials := make([]data.Measurement, 100)
	for i := range trials {
		trials[i].Workers = i + 1
	}
	var fits atomic.Int32
	form := func(before []data.Measurement) (func(data.Config) (float64, bool), error) {
		fits.Add(1)
		return func(c data.Config) (float64, bool) { return float64(1000*len(before) + c.Workers), true }, nil
	}
	for k, v := range foresee(form, trials) {
		fitted := math.Floor(v / 1000)
		if v-1000*fitted != float64(k+1) || fitted > float64(k) || 1.2*fitted < float64(k) {
			t.Errorf("trial %d is foreseen as %g, want that of a fit to %g to %d trials", k+1, v, math.Ceil(float64(k)/1.2), k)
		}
	}
	if fits.Load() > 25 {
		t.Errorf("%d fits for 100 trials, want at most 25", fits.Load())
	}
}
