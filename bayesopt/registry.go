package bayesopt

import (
	"maps"
	"slices"

	"github.com/c-bata/goptuna"

	"knee/data"
)

// strategies is the registry: a new strategy is one file and one line here.
func strategies() map[string]func(Options) (Strategy, error) {
	return map[string]func(Options) (Strategy, error){
		"knee":       func(o Options) (Strategy, error) { return NewGuided(o) },
		"cherrypick": func(o Options) (Strategy, error) { return NewCherryPick(o) },
		"cma":        func(o Options) (Strategy, error) { return NewCMA(o) },
		"gp-ei":      func(o Options) (Strategy, error) { return NewGPEI(o) },
		"random":     func(o Options) (Strategy, error) { return NewRandom(o) },
		"tpe": func(o Options) (Strategy, error) {
			return NewSamplerStrategy("tpe", o, func(seed int64) goptuna.Sampler { return NewTPESampler(seed) })
		},
	}
}

// Strategies returns the names that NewStrategy accepts, sorted.
func Strategies() []string { return slices.Sorted(maps.Keys(strategies())) }

// NewStrategy returns the strategy called name, one of [Strategies]: "knee"
// (guided, the default for an empty name) or one of the methods it is compared
// with. Errors name the option that is wrong.
func NewStrategy(name string, o Options) (Strategy, error) {
	if name == "" {
		name = "knee"
	}
	f, ok := strategies()[name]
	if !ok {
		return nil, &data.UnknownError{What: "strategy", Name: name, Known: Strategies()}
	}
	return f(o)
}
