package bayesopt

import (
	"math"
	"testing"

	"gonum.org/v1/gonum/stat/distuv"

	"knee/data"
)

// limited is measure with a time limit per step.
func limited(c data.Config, limit float64) data.Measurement {
	m := measure(c)
	if m.StepTime > limit {
		m.Status, m.StepTime = data.Timeout, limit
	}
	return m
}

// everyLimited is a history with every nth candidate measured under a limit.
func everyLimited(nth int, limit float64) History {
	h := History{Candidates: table("a100")}
	for i, c := range h.Candidates {
		if i%nth == 0 {
			h.Measured = append(h.Measured, limited(c, limit))
		}
	}
	return h
}

// After some timeouts, slower candidates are expected to time out and faster
// ones are not; a long time does not indicate a lack of memory.
func TestTimeLimit(t *testing.T) {
	const limit = 0.25
	h := everyLimited(3, limit)
	cands := h.Candidates
	p := mustProblem(t, Options{Objective: StepTime}, h)
	post, err := p.learn()
	if err != nil {
		t.Fatal(err)
	}
	for i, c := range cands {
		s := p.Suggest(i, post, "")
		if p.fits[i] < 0.85 {
			t.Errorf("%s fits with probability %.2f, though nothing ran out of memory", c, p.fits[i])
		}
		if slow := stepTime(c) / limit; slow > 1.3 && s.PFeasible > 0.5 || slow < 0.7 && s.PFeasible < 0.5 {
			t.Errorf("%s takes %.2f of the limit, and ends in time with probability %.2f", c, slow, s.PFeasible)
		}
	}
}

// The limit is at least the longest success; while every trial times out, the
// search looks for one that does not.
func TestTimeLimitOfTrials(t *testing.T) {
	cands := table("a100")
	slow, fast := cands[len(cands)-1], cands[0]
	p := mustProblem(t, Options{}, History{Candidates: cands, Measured: []data.Measurement{limited(slow, 0.01), measure(fast)}})
	if want := math.Log(stepTime(fast)); p.limit != want {
		t.Errorf("limit of ln step time %g, want %g", p.limit, want)
	}
	cands = table("a100", "t4")
	s, err := NewGuided(Options{Objective: Throughput, Price: price, Seed: 1, KeepGoing: true})
	if err != nil {
		t.Fatal(err)
	}
	h, _ := run(t, s, cands, 10, func(c data.Config, _ int) data.Measurement {
		if c.GPUType == "t4" { // the cheapest third
			return limited(c, 0.01)
		}
		return measure(c)
	})
	stopped := 0
	for _, m := range h.Measured {
		if m.Status == data.Timeout {
			stopped++
		}
	}
	if stopped > 4 {
		t.Errorf("%d of %d trials met the time limit, though only those on t4 do", stopped, len(h.Measured))
	}
}

// What may meet the time limit costs at least the limit times that probability,
// and at most the limit.
func TestCostOfMeetingTheLimit(t *testing.T) {
	const limit = 0.25
	h := everyLimited(5, limit)
	cands := h.Candidates
	p := mustProblem(t, Options{Objective: CostToTarget, JobTime: true, Price: price}, h)
	post, err := p.learn()
	if err != nil {
		t.Fatal(err)
	}
	dear := 0
	for _, i := range p.Open() {
		belief := p.belief(post, i)
		median, _ := belief.Moments()
		seconds, most := p.trialSeconds(i, belief), math.Exp(p.limit)
		atLeast := 0.0 // of the normal members
		for k, w := range belief.Weight {
			atLeast += w * most * distuv.UnitNormal.CDF((belief.Mean[k]-p.offset[i]-p.limit)/belief.SD[k])
		}
		if seconds < atLeast || seconds > most*(1+1e-9) {
			t.Errorf("%s is expected to take %g s, want %g to %g", cands[i], seconds, atLeast, most)
		}
		if seconds > 1.1*math.Exp(median-p.offset[i]) {
			dear++
		}
	}
	if dear == 0 {
		t.Error("no trial is expected to take a tenth longer than its median; want those that may meet the limit")
	}
}
