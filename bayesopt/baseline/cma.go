package baseline

import (
	"fmt"

	"github.com/c-bata/goptuna/cmaes"

	"knee/bayesopt"
	"knee/bayesopt/sampler"
	"knee/data"
)

// cma is the covariance matrix adaptation evolution strategy (Hansen, "The CMA
// evolution strategy: a tutorial", 2016) as goptuna implements it; the point it
// proposes is replaced by the nearest open candidate. goptuna's sampler keeps
// its generation in memory, so it is led through the whole history again for
// every decision, with the same seed.
func cma(p *bayesopt.Problem) (int, string, string, error) {
	row, t, err := cmaProposal(p)
	if err != nil {
		return 0, "", "", fmt.Errorf("strategy cma: %w", err)
	}
	left := p.Open()
	near := make([]float64, len(left))
	for k, i := range left {
		near[k] = -t.Gap(row, i)
	}
	return left[p.Best(left, near)], "nearest untried candidate to the point that CMA-ES proposed", "", nil
}

func cmaProposal(p *bayesopt.Problem) ([]float64, *sampler.Tracker, error) {
	h := p.History()
	t, err := sampler.NewTracker("cma", h.Candidates, p.Options(), nil, nil)
	if err != nil {
		return nil, nil, err
	}
	relative := cmaes.NewSampler(cmaes.SamplerOptionSeed(p.Options().Seed))
	step := func(c data.Config, m *data.Measurement) error {
		i, ok := t.Index(c)
		if !ok {
			return nil
		}
		id, err := t.Start(i)
		if err == nil {
			_, err = t.Propose(relative, id)
		}
		if err == nil && m != nil {
			err = t.Finish(id, *m)
		}
		return err
	}
	for i := range h.Measured {
		if m := &h.Measured[i]; m.Status != data.Aborted {
			if err := step(m.Config, m); err != nil {
				return nil, nil, err
			}
		}
	}
	for _, c := range h.Running {
		if err := step(c, nil); err != nil {
			return nil, nil, err
		}
	}
	row, err := t.Propose(relative, -1)
	return row, t, err
}
