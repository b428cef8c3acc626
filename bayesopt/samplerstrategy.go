package bayesopt

import (
	"fmt"
	"math"

	"github.com/c-bata/goptuna"

	"knee/data"
)

// SamplerStrategy makes any goptuna.Sampler a [Strategy]: the history is
// replayed into a [Tracker], the sampler proposes a point, and the nearest
// candidate that is still open is suggested. It stops only when the candidates
// are exhausted. Make one with [NewSamplerStrategy].
type SamplerStrategy struct {
	name string
	opts Options
	make func(seed int64) goptuna.Sampler
}

var _ Strategy = (*SamplerStrategy)(nil)

// NewSamplerStrategy returns the strategy called name. A fresh sampler is made
// for each decision, with a seed derived from the option's seed and the number
// of trials so far: a sampler that only draws from its seed then gives the
// same study after a restart.
func NewSamplerStrategy(name string, o Options, make func(seed int64) goptuna.Sampler) (*SamplerStrategy, error) {
	o, err := o.validate()
	if err != nil {
		return nil, err
	}
	if make == nil {
		return nil, fmt.Errorf("strategy %s: found no sampler, want a constructor", name)
	}
	return &SamplerStrategy{name: name, opts: o, make: make}, nil
}

// Next implements [Strategy].
func (s *SamplerStrategy) Next(h History) (Suggestion, error) {
	p, err := newProblem(s.opts, h)
	if err != nil {
		return Suggestion{}, err
	}
	if !p.anyOpen() {
		return p.exhausted(p.bestIndex), nil
	}
	seed := newRand(s.opts.Seed, p.trials).Int64()
	t, err := NewTracker(s.name, h.Candidates, s.opts, nil, s.make(seed))
	if err != nil {
		return Suggestion{}, err
	}
	if err := t.Replay(withoutAborted(h)); err != nil {
		return Suggestion{}, err
	}
	row, err := t.ask()
	if err != nil {
		return Suggestion{}, fmt.Errorf("strategy %s: %w", s.name, err)
	}
	return p.suggest(p.nearestOpen(t, row), nil, "nearest untried candidate to the point the "+s.name+" sampler proposed"), nil
}

// nearestOpen returns the open candidate nearest to a point of the tracker's
// space, ties by seed. There must be one.
func (p *problem) nearestOpen(t *Tracker, row []float64) int {
	pick, nearest := -1, math.Inf(1)
	for i, standing := range p.standing {
		if standing != open {
			continue
		}
		g := t.gap(row, i)
		if pick < 0 || g < nearest || g == nearest && p.priority(i) > p.priority(pick) {
			pick, nearest = i, g
		}
	}
	return pick
}

func withoutAborted(h History) History {
	var kept []data.Measurement
	for _, m := range h.Measured {
		if m.Status != data.Aborted {
			kept = append(kept, m)
		}
	}
	h.Measured = kept
	return h
}
