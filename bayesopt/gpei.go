package bayesopt

import (
	"math"

	"knee/data"
)

// GPEI is textbook Bayesian optimisation, a baseline (Snoek, Larochelle and
// Adams 2012): a Gaussian process with a constant mean on the objective
// itself, not its logarithm, one point estimate of the hyperparameters, and
// the expected improvement, after gpeiStart trials drawn at random. It stops
// only when the candidates are exhausted. Make one with [NewGPEI].
type GPEI struct {
	opts Options
}

var _ Strategy = (*GPEI)(nil)

// gpeiStart is the number of trials before the model decides, as CherryPick
// has it (Alipourfard et al., NSDI'17, section 4.2).
const gpeiStart = 3

// NewGPEI returns the strategy, or an error that names the option that is
// wrong.
func NewGPEI(o Options) (*GPEI, error) {
	o, err := o.validate()
	if err != nil {
		return nil, err
	}
	return &GPEI{opts: o}, nil
}

// Next implements [Strategy].
func (g *GPEI) Next(h History) (Suggestion, error) {
	p, err := newProblem(g.opts, h)
	if err != nil {
		return Suggestion{}, err
	}
	if !p.anyOpen() {
		return p.exhausted(p.bestIndex), nil
	}
	if p.trials < gpeiStart || p.successes() == 0 {
		left := p.openWhere(func(int) bool { return true })
		pick := left[newRand(p.opts.Seed, p.trials).IntN(len(left))]
		return p.suggest(pick, nil, "drawn at random to begin with"), nil
	}
	raw, err := p.rawModel()
	if err != nil {
		return Suggestion{}, err
	}
	pick, _ := raw.best(p)
	return p.suggest(pick, nil, "largest expected improvement"), nil
}

// rawModel is a point-estimated Gaussian process on the objective itself,
// standardised, smaller is better.
type rawModel struct {
	gp        *GP
	level, sd float64 // of the objective
	incumbent float64 // best measured, standardised
}

// rawModel fits the objective of the measured candidates. A trial without a
// value is taken to be as bad as the worst that has one.
func (p *problem) rawModel() (*rawModel, error) {
	var x [][]float64
	var y []float64
	worst := math.Inf(-1)
	for _, m := range p.measured {
		if i, ok := p.index[m.Key()]; ok && m.Status == data.OK {
			worst = max(worst, p.raw(math.Log(m.StepTime)+p.offset[i]))
		}
	}
	for _, m := range p.measured {
		i, ok := p.index[m.Key()]
		if !ok || m.Status == data.Aborted {
			continue
		}
		v := worst
		if m.Status == data.OK {
			v = p.raw(math.Log(m.StepTime) + p.offset[i])
		}
		x, y = append(x, p.points[i]), append(y, v)
	}
	r := &rawModel{incumbent: math.Inf(1)}
	if len(y) == 0 || math.IsInf(worst, -1) { // only configurations outside the table were measured
		x, y = append(x, p.points[0]), append(y, 0)
	}
	r.standardise(y)
	for _, v := range y {
		r.incumbent = min(r.incumbent, v)
	}
	var err error
	r.gp, err = FitGP(x, y, Prior{Noisy: p.opts.Noisy}, 4, p.opts.Seed)
	return r, err
}

// raw turns a response into the objective, negative where it is maximised.
func (p *problem) raw(response float64) float64 {
	if v := p.opts.Objective.natural(response); !p.opts.Objective.maximised() {
		return v
	}
	return -p.opts.Objective.natural(response)
}

// standardise scales y to zero mean and unit deviation, in place.
func (r *rawModel) standardise(y []float64) {
	r.level, r.sd = mean(y), 0
	for _, v := range y {
		r.sd += (v - r.level) * (v - r.level) / float64(len(y))
	}
	if r.sd = math.Sqrt(r.sd); !(r.sd > 0) {
		r.sd = 1
	}
	for i := range y {
		y[i] = (y[i] - r.level) / r.sd
	}
}

// best returns the open candidate of largest expected improvement, and the
// logarithm of that improvement in units of the objective.
func (r *rawModel) best(p *problem) (pick int, logImprovement float64) {
	pick, top := -1, math.Inf(-1)
	for i, s := range p.standing {
		if s != open {
			continue
		}
		m, v := r.gp.Predict(p.points[i])
		score := LogEI(m, math.Sqrt(v), r.incumbent)
		if pick < 0 || score > top || score == top && p.priority(i) > p.priority(pick) {
			pick, top = i, score
		}
	}
	return pick, top + math.Log(r.sd)
}
