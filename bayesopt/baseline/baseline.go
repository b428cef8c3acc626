// Package baseline holds the search methods that the guided strategy of
// package bayesopt is compared with, and the registry of all by name.
//
// They share one skeleton: the problem is read as the guided strategy reads it
// (the same candidates, features and response), a method picks one of the
// candidates that are left, ties by seed, and the search ends when none is.
package baseline

import (
	"maps"
	"slices"

	"knee/bayesopt"
	"knee/data"
)

// pick chooses among the open candidates, of which there is at least one, and
// says why. fired is why the method would stop here, empty if it would not.
type pick func(p *bayesopt.Problem) (candidate int, reason, fired string, err error)

// method is a [bayesopt.Strategy] made of a pick function. It has no state.
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
		return p.Exhausted(p.Favourite()), nil
	}
	i, reason, fired, err := m.pick(p)
	if err != nil {
		return bayesopt.Suggestion{}, err
	}
	if fired != "" && !m.opts.KeepGoing {
		return p.Stopped(p.Favourite(), fired), nil
	}
	s := p.Suggest(i, reason)
	s.Fired = fired
	return s, nil
}

// methods is the registry: a new one is one file and one line here. The pairs
// of surrogate and acquisition are added to it.
func methods() map[string]pick {
	m := map[string]pick{
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

// Guided is the name of [bayesopt.Guided] among the strategies.
const Guided = "guided"

// Strategies returns the names that [NewStrategy] accepts, sorted.
func Strategies() []string {
	return slices.Sorted(maps.Keys(func() map[string]pick { m := methods(); m[Guided] = nil; return m }()))
}

// NewStrategy returns the strategy called name, one of [Strategies]: "guided",
// the default for an empty name, or one of the methods it is compared with.
// Errors name the option that is wrong.
func NewStrategy(name string, o bayesopt.Options) (bayesopt.Strategy, error) {
	if name == "" || name == Guided {
		return bayesopt.NewGuided(o)
	}
	p, ok := methods()[name]
	if !ok {
		return nil, &data.UnknownError{What: "strategy", Name: name, Known: Strategies()}
	}
	o.Memory = nil // no baseline weighs what fits, and asking costs time
	o, err := o.Validate()
	return method{o, p}, err
}
