// Package baseline has the search methods that the guided strategy of package
// bayesopt is compared with, and a registry by name.
//
// All use its candidates, features and responses. Each picks one of the open candidates,
// with ties broken by seed, until none is left.
package baseline

import (
	"fmt"
	"maps"
	"math"
	"slices"

	"gonum.org/v1/gonum/floats"

	"knee/bayesopt"
	"knee/data"
	"knee/internal/list"
)

// pick chooses among the open candidates, at least one, and returns a reason.
// fired is the reason why the method would stop here, empty if it would not.
type pick func(p *bayesopt.Problem) (candidate int, reason, fired string, err error)

// method is a [bayesopt.Strategy] from a pick function, without state.
type method struct {
	opts bayesopt.Options
	pick pick
}

// Next implements [bayesopt.Strategy].
func (m method) Next(h bayesopt.History) (bayesopt.Suggestion, error) {
	p, err := bayesopt.NewProblem(m.opts, h)
	if err != nil {
		return bayesopt.Suggestion{}, err
	}
	if len(p.Open()) == 0 {
		return p.Exhausted(p.Favourite(nil), math.NaN()), nil
	}
	i, reason, fired, err := m.pick(p)
	if err != nil {
		return bayesopt.Suggestion{}, err
	}
	if fired != "" && !m.opts.KeepGoing {
		return p.Stopped(p.Favourite(nil), fired), nil
	}
	s := p.Suggest(i, nil, reason)
	s.Fired = fired
	return s, nil
}

// methods is the registry, with all pairs of surrogate and acquisition.
func methods() map[string]pick {
	m := map[string]pick{
		Guided:       nil, // see NewStrategy
		"random":     random,
		"cherrypick": cherryPick,
		"cma":        fromGoptuna("cma", cma),
		"tpe":        fromGoptuna("tpe", parzen),
	}
	for s, fit := range surrogates() {
		for a, score := range acquisitions() {
			m[s+"-"+a] = pair{fit, score}.pick
		}
	}
	return m
}

// random draws uniformly from the open candidates.
func random(p *bayesopt.Problem) (int, string, string, error) {
	left := p.Open()
	return left[p.Rand().IntN(len(left))], fmt.Sprintf("drawn at random from the %d candidates left", len(left)), "", nil
}

// nearest returns the open candidate nearest to a point of the unit cube.
func nearest(p *bayesopt.Problem, point []float64) int {
	left := p.Open()
	near := list.Map(left, func(i int) float64 { return -floats.Distance(p.Points[i], point, 2) })
	return left[p.Best(left, near)]
}

// The stopping rule of CherryPick (NSDI'17, section 4.2, "Stopping condition").
const (
	cherryPickTrials      = 6
	cherryPickImprovement = 0.10
)

// cherryPick is the search of Alipourfard et al. (NSDI'17, section 4): gp-ei
// after a quasi-random start; it stops after at least six trials when the
// expected improvement is below a tenth of the best objective so far.
func cherryPick(p *bayesopt.Problem) (int, string, string, error) {
	if p.Trials < start || p.Successes == 0 {
		i := nearest(p, bayesopt.QuasiRandom(len(p.Points[0]), p.Options.Seed, p.Trials))
		return i, "next point of a quasi-random sequence", "", nil
	}
	i, logRelative, err := pair{surrogates()["gp"], acquisitions()["ei"]}.best(p)
	fired := ""
	if relative := math.Exp(logRelative); p.Trials >= cherryPickTrials && relative < cherryPickImprovement {
		fired = fmt.Sprintf("stop after %d trials: the expected improvement, %.2g %% of the best, is below %.0f %%",
			p.Trials, 100*relative, 100*cherryPickImprovement)
	}
	return i, "largest expected improvement", fired, err
}

// Guided is the name of [bayesopt.Guided].
const Guided = "guided"

// Strategies returns the names that [NewStrategy] accepts, sorted.
func Strategies() []string {
	return slices.Sorted(maps.Keys(methods()))
}

// NewStrategy returns the strategy called name, one of [Strategies]; empty means "guided".
// It fails with a *data.UnknownError for another name, and for invalid options.
func NewStrategy(name string, o bayesopt.Options) (bayesopt.Strategy, error) {
	if name == "" || name == Guided {
		return bayesopt.NewGuided(o)
	}
	p, ok := methods()[name]
	if !ok {
		return nil, &data.UnknownError{What: "strategy", Name: name, Known: Strategies()}
	}
	o.Memory, o.Forms = nil, nil // baselines use neither
	o, err := o.Validate()
	return method{o, p}, err
}
