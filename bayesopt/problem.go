package bayesopt

import (
	"fmt"
	"hash/fnv"
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
	keys     []string       // of the candidates
	index    map[string]int // candidate by key
	hourly   []float64      // US$/h, or workers + ps where no price is known
	priced   bool           // hourly are US$
	points   [][]float64
	offset   []float64 // response − ln step time
	finish   []float64 // ln time to finish − ln step time; nil without a deadline
	trends   []trend   // prior means of ln step time, at least one
	standing []standing
	looks    []int     // measurements of each candidate that gave a time
	trials   int       // measured and running, failures included
	fits     []float64 // probability that the candidate fits into memory, for those not excluded

	seen      []observation
	running   [][]float64 // points of the running trials
	best      float64     // best response among the candidates measured that meet the deadline, +Inf if none
	bestIndex int         // its candidate, −1 if none
	measured  []data.Measurement
}

// observation is one trial as the model sees it.
type observation struct {
	x        []float64
	logTime  float64   // ln step time, or what stands for it
	trends   []float64 // the prior means there
	index    int       // candidate, −1 for a configuration outside the table
	feasible bool      // a real measurement (false: a penalty)
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
	p := &problem{opts: o, cands: h.Candidates, points: points, best: math.Inf(1), bestIndex: -1, measured: h.Measured,
		keys: make([]string, len(h.Candidates)), index: make(map[string]int, len(h.Candidates))}
	for i, c := range p.cands {
		p.keys[i] = c.Key()
		p.index[p.keys[i]] = i
	}
	if p.offset, err = o.offsets(h.Candidates); err != nil {
		return nil, err
	}
	if p.finish, err = o.finishOffsets(h.Candidates); err != nil {
		return nil, err
	}
	p.setPrices()
	p.trends = o.trendsOf(p)
	p.place(h)
	p.observe(enc)
	return p, nil
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

// place decides the standing of every candidate. Aborted trials were stopped
// by the user and say nothing: their candidates stay open.
func (p *problem) place(h History) {
	p.standing, p.looks = make([]standing, len(p.cands)), make([]int, len(p.cands))
	var rules memoryRules
	for _, m := range h.Measured {
		if m.Status == data.Aborted {
			continue
		}
		p.trials++
		rules.learn(m)
		if i, ok := p.index[m.Key()]; ok {
			p.standing[i] = tried
			if m.Status == data.OK {
				p.looks[i]++
			}
		}
	}
	for _, c := range h.Running {
		p.trials++
		if i, ok := p.index[c.Key()]; ok {
			// One that is being measured again counts as another look, so that
			// the same doubt does not send a second trial after it.
			p.looks[i]++
			if p.standing[i] == open {
				p.standing[i] = inFlight
			}
			p.running = append(p.running, p.points[i])
		}
	}
	for i, c := range p.cands {
		if p.standing[i] == open && rules.excludes(c) {
			p.standing[i] = excluded
		}
	}
	p.fits = rules.chances(p.cands)
}

// observe collects what the model learns from. Out of memory is left to the
// memory rules: the fastest feasible batch is often the one just below, and a
// penalty would frighten the search away from it.
func (p *problem) observe(enc *encoder) {
	worst := math.Inf(-1)
	for _, m := range p.measured {
		if m.Status == data.OK {
			if o, ok := p.observation(enc, m); ok {
				o.logTime, o.feasible = math.Log(m.StepTime), true
				worst = max(worst, o.logTime)
				p.seen = append(p.seen, o)
				p.consider(o)
			}
		}
	}
	if math.IsInf(worst, -1) {
		return
	}
	for _, m := range p.measured {
		switch m.Status {
		case data.Infeasible, data.Failed, data.Timeout:
			if o, ok := p.observation(enc, m); ok {
				o.logTime = worst + failurePenalty
				if positive(m.StepTime) {
					// A time limit that was hit is a lower bound of the step time.
					o.logTime = math.Log(m.StepTime) + failurePenalty
				}
				p.seen = append(p.seen, o)
			}
		}
	}
}

// observation places a measurement among the candidates. Configurations that
// the features or a trend cannot place are passed over: they belong to another
// space.
func (p *problem) observation(enc *encoder, m data.Measurement) (observation, bool) {
	o := observation{index: -1, trends: make([]float64, len(p.trends))}
	if i, ok := p.index[m.Key()]; ok {
		o.index, o.x = i, p.points[i]
		for k, t := range p.trends {
			o.trends[k] = t.at[i]
		}
		return o, true
	}
	x, ok := enc.encode(m.Config)
	if !ok {
		return o, false
	}
	o.x = x
	for k, t := range p.trends {
		if o.trends[k], ok = t.of(m.Config); !ok || math.IsNaN(o.trends[k]) || math.IsInf(o.trends[k], 0) {
			return o, false
		}
	}
	return o, true
}

// consider keeps the best measured candidate that meets the deadline.
func (p *problem) consider(o observation) {
	if o.index < 0 || p.finish != nil && o.logTime+p.finish[o.index] > math.Log(p.opts.Deadline) {
		return
	}
	if r := o.logTime + p.offset[o.index]; r < p.best {
		p.best, p.bestIndex = r, o.index
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
	for _, o := range p.seen {
		if o.feasible {
			n++
		}
	}
	return n
}

// priority breaks ties: a number that depends on the seed and on what the
// candidate is, not on where it stands in the table (FNV-1a, then the
// finaliser of SplitMix64, Steele, Lea and Flood 2014).
func (p *problem) priority(i int) uint64 {
	h := fnv.New64a()
	h.Write([]byte(p.keys[i]))
	z := uint64(p.opts.Seed)*0x9e3779b97f4a7c15 + h.Sum64()
	z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9
	z = (z ^ (z >> 27)) * 0x94d049bb133111eb
	return z ^ (z >> 31)
}
