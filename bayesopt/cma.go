package bayesopt

import (
	"errors"
	"fmt"

	"github.com/c-bata/goptuna"
	"github.com/c-bata/goptuna/cmaes"
)

// CMA is the covariance matrix adaptation evolution strategy (Hansen,
// "The CMA evolution strategy: a tutorial", 2016) as goptuna implements it: a
// baseline. The point it proposes is replaced by the nearest candidate that is
// still open. It stops only when the candidates are exhausted. Make one with
// [NewCMA].
type CMA struct {
	opts Options
}

var _ Strategy = (*CMA)(nil)

// NewCMA returns the strategy, or an error that names the option that is
// wrong.
func NewCMA(o Options) (*CMA, error) {
	o, err := o.validate()
	if err != nil {
		return nil, err
	}
	return &CMA{opts: o}, nil
}

// Next implements [Strategy]. goptuna's sampler keeps its generation in
// memory; here it is led through the whole history again for every decision,
// with the same seed, so that a study goes on after a restart as if it had
// never been interrupted.
func (s *CMA) Next(h History) (Suggestion, error) {
	p, err := newProblem(s.opts, h)
	if err != nil {
		return Suggestion{}, err
	}
	if !p.anyOpen() {
		return p.exhausted(p.bestIndex), nil
	}
	t, err := NewTracker("cma", h.Candidates, s.opts, nil, nil)
	if err != nil {
		return Suggestion{}, err
	}
	sampler := cmaes.NewSampler(cmaes.SamplerOptionSeed(s.opts.Seed))
	for _, m := range withoutAborted(h).Measured {
		i, ok := t.byKey[m.Key()]
		if !ok {
			continue
		}
		id, err := t.Start(i)
		if err == nil {
			_, err = t.propose(sampler, id)
		}
		if err == nil {
			err = t.Finish(id, m)
		}
		if err != nil {
			return Suggestion{}, fmt.Errorf("strategy cma: %w", err)
		}
	}
	for _, c := range h.Running {
		if i, ok := t.byKey[c.Key()]; ok {
			id, err := t.Start(i)
			if err == nil {
				_, err = t.propose(sampler, id)
			}
			if err != nil {
				return Suggestion{}, fmt.Errorf("strategy cma: %w", err)
			}
		}
	}
	id, err := t.study.Storage.CreateNewTrial(t.study.ID)
	if err != nil {
		return Suggestion{}, fmt.Errorf("strategy cma: %w", err)
	}
	row, err := t.propose(sampler, id)
	if err != nil {
		return Suggestion{}, fmt.Errorf("strategy cma: %w", err)
	}
	return p.suggest(p.nearestOpen(t, row), nil, "nearest untried candidate to the point that CMA-ES proposed"), nil
}

// propose lets a relative sampler propose ordinals for a trial. A space that
// it does not support, such as one with a single parameter, is sampled
// independently.
func (t *Tracker) propose(s goptuna.RelativeSampler, id int) ([]float64, error) {
	values, err := s.SampleRelative(t.study, goptuna.FrozenTrial{ID: id, StudyID: t.study.ID}, t.Space())
	if errors.Is(err, goptuna.ErrUnsupportedSearchSpace) || err == nil && values == nil {
		return t.ask()
	}
	if err != nil {
		return nil, err
	}
	row := make([]float64, len(t.knobs))
	for k, knob := range t.knobs {
		row[k] = values[knob.name]
	}
	return row, nil
}
