package bayesopt

import (
	"fmt"
	"math"

	"knee/data"
)

// standing is what may still be done with a candidate.
type standing uint8

const (
	open     standing = iota
	tried             // measured, whatever came of it
	inFlight          // running now
	excluded          // never tried, but known to be infeasible
)

// failurePenalty is how much worse than the worst observation, in nats, a
// trial without a usable time is taken to be. It keeps the search away from
// the place without distorting the model as the true, unbounded, value would.
const failurePenalty = 0.5

// problem is one decision: the history seen through the features, the
// objective and the feasibility rules.
type problem struct {
	opts     Options
	cands    []data.Config
	hourly   []float64 // US$/h, or workers + ps where no price is known
	priced   bool      // hourly are US$
	points   [][]float64
	offset   []float64 // response − ln step time
	prior    []float64 // prior mean of ln step time
	standing []standing
	trials   int // measured and running, failures included

	x         [][]float64 // observations: points,
	y         []float64   // ln step time minus the prior mean,
	index     []int       // candidate, −1 for a configuration outside the table
	feasible  []bool      // and whether it is a real measurement (false: a penalty)
	running   [][]float64 // points of the running trials
	best      float64     // best response among the candidates measured, +Inf if none
	bestIndex int         // its candidate, −1 if none
	measured  []data.Measurement
}

// newProblem checks the history and prepares a decision.
func newProblem(o Options, h History) (*problem, error) {
	if len(h.Candidates) == 0 {
		return nil, &data.InputError{Found: "no candidates", Want: "a search space with at least one configuration that satisfies the constraints"}
	}
	for _, m := range h.Measured {
		if err := checkMeasurement(m); err != nil {
			return nil, err
		}
	}
	enc, points, err := newEncoder(h.Candidates)
	if err != nil {
		return nil, err
	}
	p := &problem{opts: o, cands: h.Candidates, points: points, best: math.Inf(1), bestIndex: -1, measured: h.Measured}
	if p.offset, err = o.offsets(h.Candidates); err != nil {
		return nil, err
	}
	p.setPrices()
	p.prior = o.priorMeans(h.Candidates)
	p.place(h)
	return p, p.observe(enc, h.Measured)
}

// checkMeasurement refuses a step time that cannot be true.
func checkMeasurement(m data.Measurement) error {
	if m.Status == data.OK && !positive(m.StepTime) {
		source := m.Source
		source.Column = "step_time_s"
		return &data.InputError{Source: source, Found: fmt.Sprintf("%v for %s", m.StepTime, m.Config), Want: "seconds > 0 for a trial with status ok"}
	}
	return nil
}

// setPrices fills hourly. Prices are used only if every candidate has one:
// dollars and worker counts cannot be compared.
func (p *problem) setPrices() {
	p.hourly = make([]float64, len(p.cands))
	p.priced = p.opts.Price != nil
	for i, c := range p.cands {
		if p.priced {
			p.hourly[i] = p.opts.Price(c)
			p.priced = positive(p.hourly[i])
		}
	}
	if p.priced {
		return
	}
	for i, c := range p.cands {
		p.hourly[i] = float64(c.Workers + c.PS)
	}
}

// priorMeans evaluates the parametric mean, all zeros if it is not usable for
// every candidate: a mean that is there for some only would be a step in the
// response that the kernel would have to learn.
func (o Options) priorMeans(cands []data.Config) []float64 {
	means := make([]float64, len(cands))
	if o.Mean == nil {
		return means
	}
	for i, c := range cands {
		m, ok := o.Mean(c)
		if !ok || math.IsNaN(m) || math.IsInf(m, 0) {
			return make([]float64, len(cands))
		}
		means[i] = m
	}
	return means
}

// place decides the standing of every candidate. Aborted trials were stopped
// by the user and say nothing: their candidates stay open.
func (p *problem) place(h History) {
	byKey := make(map[string]int, len(p.cands))
	for i, c := range p.cands {
		byKey[c.Key()] = i
	}
	p.standing = make([]standing, len(p.cands))
	var rules memoryRules
	for _, m := range h.Measured {
		if m.Status == data.Aborted {
			continue
		}
		p.trials++
		rules.learn(m)
		if i, ok := byKey[m.Key()]; ok {
			p.standing[i] = tried
		}
	}
	for _, c := range h.Running {
		p.trials++
		if i, ok := byKey[c.Key()]; ok && p.standing[i] == open {
			p.standing[i] = inFlight
			p.running = append(p.running, p.points[i])
		}
	}
	for i, c := range p.cands {
		if p.standing[i] == open && rules.excludes(c) {
			p.standing[i] = excluded
		}
	}
}

// observe collects what the model learns from. Out of memory is left to the
// memory rules: the fastest feasible batch is often the one just below, and a
// penalty would frighten the search away from it.
func (p *problem) observe(enc *encoder, measured []data.Measurement) error {
	byKey := make(map[string]int, len(p.cands))
	for i, c := range p.cands {
		byKey[c.Key()] = i
	}
	worst := math.Inf(-1)
	for _, m := range measured {
		if m.Status == data.OK {
			p.add(enc, byKey, m, math.Log(m.StepTime), true, &worst)
		}
	}
	if math.IsInf(worst, -1) {
		return nil
	}
	penalty := worst + failurePenalty
	for _, m := range measured {
		switch m.Status {
		case data.Infeasible, data.Failed, data.Timeout:
			if positive(m.StepTime) {
				// A time limit that was hit is a lower bound of the step time.
				p.add(enc, byKey, m, math.Log(m.StepTime)+failurePenalty, false, nil)
			} else {
				p.add(enc, byKey, m, penalty, false, nil)
			}
		}
	}
	return nil
}

// add appends one observation. Measurements of configurations that the
// features cannot place are passed over: they belong to another space.
func (p *problem) add(enc *encoder, byKey map[string]int, m data.Measurement, logTime float64, real bool, worst *float64) {
	i, inTable := byKey[m.Key()]
	var x []float64
	var prior float64
	if inTable {
		x, prior = p.points[i], p.prior[i]
	} else {
		i = -1
		var ok bool
		if x, ok = enc.encode(m.Config); !ok {
			return
		}
		if p.opts.Mean != nil {
			if prior, ok = p.opts.Mean(m.Config); !ok || math.IsNaN(prior) || math.IsInf(prior, 0) {
				return
			}
		}
	}
	residual := logTime - prior
	if !real && !positive(m.StepTime) {
		residual = logTime // a penalty is on the scale of the residuals already
	}
	p.x, p.y = append(p.x, x), append(p.y, residual)
	p.index, p.feasible = append(p.index, i), append(p.feasible, real)
	if worst != nil {
		*worst = max(*worst, residual)
	}
	if real && inTable && logTime+p.offset[i] < p.best {
		p.best, p.bestIndex = logTime+p.offset[i], i
	}
}

// anyOpen reports whether a candidate is left to suggest.
func (p *problem) anyOpen() bool {
	for _, s := range p.standing {
		if s == open {
			return true
		}
	}
	return false
}

// successes returns the number of real measurements.
func (p *problem) successes() int {
	n := 0
	for _, ok := range p.feasible {
		if ok {
			n++
		}
	}
	return n
}

// priority breaks ties: a number that depends on the seed and the candidate
// only (the finaliser of SplitMix64, Steele, Lea and Flood 2014).
func (p *problem) priority(i int) uint64 {
	z := uint64(p.opts.Seed) + 0x9e3779b97f4a7c15*uint64(i+1)
	z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9
	z = (z ^ (z >> 27)) * 0x94d049bb133111eb
	return z ^ (z >> 31)
}
