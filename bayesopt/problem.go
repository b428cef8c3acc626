package bayesopt

import (
	"fmt"
	"hash/fnv"
	"math"
	"slices"

	"knee/data"
	"knee/internal/list"
)

// standing says whether a candidate may be tried.
type standing uint8

const (
	open     standing = iota
	tried             // measured, successfully or not
	inFlight          // running
	barred            // outside the region for trials
)

// Problem is one decision: the history in terms of features, objective and feasibility.
type Problem struct {
	Options   Options
	History   History
	Trials    int         // measured and running, failed ones included, aborted ones excluded
	Successes int         // measurements with a time
	Points    [][]float64 // candidates as points of the unit cube

	cands      []data.Config
	keys       []string       // of the candidates
	index      map[string]int // candidate by key
	hourly     []float64      // US$/h, or workers + ps if a price is unknown
	priced     bool           // hourly is in US$
	enc        *encoder
	offset     []float64   // response − ln step time
	latest     []float64   // ln step time that just meets the deadline, +Inf without one
	limit      float64     // least ln step time at which a trial was stopped; +Inf if none was
	priorMeans []priorMean // at least one
	standing   []standing
	looks      []int     // successful measurements of each candidate
	fits       []float64 // probability that the candidate works
	memory     []float64 // probability that it fits in memory
	headrooms  *headroom // the classifier of that
	forbids    []forbidden

	observations []observation
	running      []int   // candidates of the running trials
	best         float64 // best response of candidates that meet the deadline, +Inf if none
	bestIndex    int     // its candidate, −1 if none
}

// observation is one trial in the terms of the model.
type observation struct {
	x          []float64
	logTime    float64   // ln step time; imputed if censored
	variance   float64   // known measurement variance of logTime; 0 if unknown
	priorMeans []float64 // values of the prior means
	index      int       // candidate, −1 for a configuration outside the table
	feasible   bool      // measured; false: only a lower bound
	success    int       // index among the successful trials, if feasible
	bound      float64   // lower bound of ln step time; logTime if measured
}

// NewProblem prepares a decision. It fails with a *data.InputError for an
// invalid history, see [Guided.Next].
func NewProblem(o Options, h History) (*Problem, error) {
	if len(h.Candidates) == 0 {
		return nil, &data.InputError{Found: "no candidates", Want: "a search space with at least one configuration that satisfies the constraints"}
	}
	for _, m := range h.Measured {
		if m.Status == data.OK && !positive(m.StepTime) {
			source := m.Source
			source.Column = "step_time_s"
			return nil, &data.InputError{Source: source, Found: fmt.Sprintf("%v for %s", m.StepTime, m.Config), Want: "seconds > 0 for a trial with status ok"}
		}
	}
	enc, points, err := newEncoder(h.Candidates)
	if err != nil {
		return nil, err
	}
	p := &Problem{Options: o, History: h, Points: points, enc: enc, cands: h.Candidates, limit: math.Inf(1), best: math.Inf(1), bestIndex: -1,
		keys: list.Map(h.Candidates, data.Config.Key), index: make(map[string]int, len(h.Candidates))}
	for i, key := range p.keys {
		p.index[key] = i
	}
	if p.offset, err = o.offsets(h.Candidates); err != nil {
		return nil, err
	}
	if p.latest, err = o.latest(h.Candidates); err != nil {
		return nil, err
	}
	p.setPrices()
	p.setPriorMeans()
	p.place()
	if err := p.checkTarget(); err != nil {
		return nil, err
	}
	p.fits = p.feasibility()
	p.observe()
	return p, nil
}

// setPrices fills hourly, with prices only if every candidate has one.
func (p *Problem) setPrices() {
	of := p.Options.Price
	p.priced = of != nil && !slices.ContainsFunc(p.cands, func(c data.Config) bool { return !positive(of(c)) })
	if !p.priced {
		of = func(c data.Config) float64 { return float64(c.Workers + c.PS) }
	}
	p.hourly = list.Map(p.cands, of)
}

// place sets the standing of every candidate. Trials aborted by the user count as untried.
func (p *Problem) place() {
	p.standing, p.looks = make([]standing, len(p.cands)), make([]int, len(p.cands))
	for i, c := range p.cands {
		if t := p.Options.Target; t != nil && t.Measure != nil && !t.Measure(c) {
			p.standing[i] = barred
		}
	}
	for _, m := range p.History.Measured {
		if m.Status == data.Aborted {
			continue
		}
		p.Trials++
		if i, ok := p.index[m.Key()]; ok {
			p.standing[i] = tried
			if m.Status == data.OK {
				p.looks[i]++
			}
		}
	}
	for _, c := range p.History.Running {
		p.Trials++
		if i, ok := p.index[c.Key()]; ok {
			// counts as measured, to avoid a second repetition for the same reason
			p.looks[i]++
			if p.standing[i] == open {
				p.standing[i] = inFlight
			}
			p.running = append(p.running, i)
		}
	}
}

// observe collects the times that the surrogate is fitted to. A trial that met its time
// limit gives a lower bound; the common limit is the shortest of these times, but not below
// any success. Other failures are left to the feasibility model: the fastest configuration
// is often next to an infeasible one, and a penalty would keep the search away.
func (p *Problem) observe() {
	longest, successes := math.Inf(-1), 0
	for _, m := range p.History.Measured {
		if m.Status == data.OK {
			successes++
		}
		if m.Status != data.OK && (m.Status != data.Timeout || !positive(m.StepTime)) {
			continue
		}
		o, ok := p.observation(m.Config)
		if !ok {
			continue
		}
		o.logTime, o.bound, o.feasible = math.Log(m.StepTime), math.Log(m.StepTime), m.Status == data.OK
		if !o.feasible {
			p.limit = min(p.limit, o.logTime)
		} else {
			o.success = successes - 1
			p.Successes++
			longest = max(longest, o.logTime)
			o.variance = (m.StepTimeSE / m.StepTime) * (m.StepTimeSE / m.StepTime)
			if i := o.index; i >= 0 && o.logTime <= p.latest[i] && o.logTime+p.offset[i] < p.best {
				p.best, p.bestIndex = o.logTime+p.offset[i], i
			}
		}
		p.observations = append(p.observations, o)
	}
	p.limit = max(p.limit, longest)
	for k := range p.observations {
		if o := &p.observations[k]; !o.feasible {
			o.bound = max(o.logTime, p.limit)
			o.logTime = o.bound + censoredExcess
		}
	}
}

// observation has no time yet; false outside the space of the features or a prior mean.
func (p *Problem) observation(c data.Config) (observation, bool) {
	x, ok := p.enc.encode(c)
	o := observation{index: -1, x: x}
	if i, known := p.index[c.Key()]; known {
		o.index = i
	}
	for _, t := range p.priorMeans {
		m, defined := t.of(c)
		o.priorMeans, ok = append(o.priorMeans, m), ok && defined && finite(m)
	}
	return o, ok
}

// succeeded returns the measurements with status ok.
func (p *Problem) succeeded() []data.Measurement {
	return slices.DeleteFunc(slices.Clone(p.History.Measured), func(m data.Measurement) bool { return m.Status != data.OK })
}

// priority breaks ties by a hash of the seed and the candidate's key, independent of its
// position (FNV-1a, then the finaliser of SplitMix64, Steele, Lea and Flood 2014).
func (p *Problem) priority(i int) uint64 {
	h := fnv.New64a()
	h.Write([]byte(p.keys[i]))
	z := uint64(p.Options.Seed)*0x9e3779b97f4a7c15 + h.Sum64()
	z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9
	z = (z ^ (z >> 27)) * 0x94d049bb133111eb
	return z ^ (z >> 31)
}

// Open returns the indices of the candidates neither tried, running nor barred.
func (p *Problem) Open() (out []int) {
	for i, s := range p.standing {
		if s == open {
			out = append(out, i)
		}
	}
	return out
}

// Objectives returns the points and objectives of the trials of candidates, negated if
// maximised. A trial without an objective gets the worst of the others. Without any
// objective it returns one point with value 0, so that a model can be fitted.
func (p *Problem) Objectives() (x [][]float64, y []float64) {
	worst := math.Inf(-1)
	for _, m := range p.History.Measured {
		i, ok := p.index[m.Key()]
		if !ok || m.Status == data.Aborted {
			continue
		}
		v := math.Inf(1)
		if m.Status == data.OK {
			v = p.Options.Objective.natural(math.Log(m.StepTime) + p.offset[i])
			if p.Options.Objective.Maximised() {
				v = -v
			}
			worst = max(worst, v)
		}
		x, y = append(x, p.Points[i]), append(y, v)
	}
	if math.IsInf(worst, -1) {
		return [][]float64{p.Points[0]}, []float64{0}
	}
	for k := range y {
		y[k] = min(y[k], worst)
	}
	return x, y
}

// Best returns the position of the highest score; ties are broken by seed.
func (p *Problem) Best(candidates []int, scores []float64) int {
	best := 0
	for k, i := range candidates {
		if scores[k] > scores[best] || scores[k] == scores[best] && p.priority(i) > p.priority(candidates[best]) {
			best = k
		}
	}
	return best
}
