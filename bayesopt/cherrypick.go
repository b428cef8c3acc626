package bayesopt

import (
	"fmt"
	"math"
)

// CherryPick is the search of Alipourfard et al. (NSDI'17, section 4), a
// baseline: [GPEI] that begins with a quasi-random sequence and stops, after
// at least six trials, when the expected improvement is below a tenth of the
// best objective so far. Make one with [NewCherryPick].
type CherryPick struct {
	opts Options
}

var _ Strategy = (*CherryPick)(nil)

// The paper's stopping rule (section 4.2, "Stopping condition").
const (
	cherryPickTrials      = 6
	cherryPickImprovement = 0.10
)

// NewCherryPick returns the strategy, or an error that names the option that
// is wrong.
func NewCherryPick(o Options) (*CherryPick, error) {
	o, err := o.validate()
	if err != nil {
		return nil, err
	}
	return &CherryPick{opts: o}, nil
}

// Next implements [Strategy].
func (c *CherryPick) Next(h History) (Suggestion, error) {
	p, err := newProblem(c.opts, h)
	if err != nil {
		return Suggestion{}, err
	}
	if !p.anyOpen() {
		return p.exhausted(p.bestIndex), nil
	}
	if p.trials < gpeiStart || p.successes() == 0 {
		return p.suggest(p.quasiRandom(), nil, "next of a quasi-random sequence to begin with"), nil
	}
	raw, err := p.rawModel()
	if err != nil {
		return Suggestion{}, err
	}
	pick, logImprovement := raw.best(p)
	s := p.suggest(pick, nil, "largest expected improvement")
	scale := math.Abs(raw.level + raw.sd*raw.incumbent)
	if relative := math.Exp(logImprovement) / scale; p.trials >= cherryPickTrials && relative < cherryPickImprovement {
		fired := fmt.Sprintf("stop after %d trials: the expected improvement, %.2g %% of the best, is below %.0f %%; best is %s",
			p.trials, 100*relative, 100*cherryPickImprovement, p.config(p.bestIndex))
		if !c.opts.KeepGoing {
			return p.stopped(p.bestIndex, fired), nil
		}
		s.Fired = fired
	}
	return s, nil
}

// quasiRandom returns the open candidate nearest to the next point of an
// evenly spread sequence over the features.
func (p *problem) quasiRandom() int {
	u := make(space, len(p.points[0])).spread(p.opts.Seed, p.trials)
	pick, nearest := -1, math.Inf(1)
	for i, s := range p.standing {
		if s != open {
			continue
		}
		if d := distance(p.points[i], u); pick < 0 || d < nearest || d == nearest && p.priority(i) > p.priority(pick) {
			pick, nearest = i, d
		}
	}
	return pick
}
