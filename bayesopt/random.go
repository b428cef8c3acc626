package bayesopt

import (
	"fmt"

	"github.com/c-bata/goptuna"
)

// Random suggests candidates uniformly at random, drawn by goptuna's random
// sampler: the baseline that every other strategy has to beat. It stops only
// when the candidates are exhausted. Make one with [NewRandom].
type Random struct {
	opts Options
}

var _ Strategy = (*Random)(nil)

// NewRandom returns the random strategy. Of the options it uses the seed and
// the prices; the others are checked all the same.
func NewRandom(o Options) (*Random, error) {
	o, err := o.validate()
	if err != nil {
		return nil, err
	}
	return &Random{opts: o}, nil
}

// Next implements [Strategy].
func (r *Random) Next(h History) (Suggestion, error) {
	p, err := newProblem(r.opts, h)
	if err != nil {
		return Suggestion{}, err
	}
	left := p.openWhere(func(int) bool { return true })
	if len(left) == 0 {
		return p.exhausted(p.bestIndex), nil
	}
	// The draw is an index into what is left, never into the whole table, so
	// that it is uniform without being repeated until it fits.
	sampler := goptuna.NewRandomSampler(goptuna.RandomSamplerOptionSeed(r.seed(p)))
	d := goptuna.DiscreteUniformDistribution{Low: 0, High: float64(len(left) - 1), Q: 1}
	v, err := sampler.Sample(nil, goptuna.FrozenTrial{}, "candidate", d)
	if err != nil {
		return Suggestion{}, fmt.Errorf("random sampler: %w", err)
	}
	return p.suggest(left[int(v)], nil, fmt.Sprintf("drawn at random from the %d candidates left", len(left))), nil
}

// seed is that of one decision.
func (r *Random) seed(p *problem) int64 { return newRand(r.opts.Seed, p.trials).Int64() }
