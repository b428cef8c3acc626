package baseline

import (
	"fmt"
	"slices"

	"github.com/c-bata/goptuna"
	"github.com/c-bata/goptuna/cmaes"
	"github.com/c-bata/goptuna/tpe"

	"knee/bayesopt"
	"knee/bayesopt/sampler"
	"knee/data"
)

// fromGoptuna picks the open candidate nearest to the proposal of a goptuna
// sampler. The samplers have state, so every decision replays the whole
// history.
func fromGoptuna(name string, samplers func(p *bayesopt.Problem) (goptuna.Sampler, goptuna.RelativeSampler)) pick {
	return func(p *bayesopt.Problem) (int, string, string, error) {
		independent, relative := samplers(p)
		trials := slices.Clone(p.History.Measured)
		for _, c := range p.History.Running {
			trials = append(trials, data.Measurement{Config: c})
		}
		t, err := sampler.NewTracker(name, p.History.Candidates, p.Options, goptuna.NewInMemoryStorage(), independent)
		for _, m := range trials {
			if err == nil && m.Status != data.Aborted && t.Has(m.Config) {
				err = replayed(t, relative, m)
			}
		}
		var row []float64
		if err == nil {
			row, err = t.Propose(relative, -1)
		}
		if err != nil {
			return 0, "", "", fmt.Errorf("strategy %s: %w", name, err)
		}
		i := nearest(p, func(i int) float64 { return t.Gap(row, p.History.Candidates[i]) })
		return i, "nearest untried candidate to the point that goptuna's " + name + " proposes", "", nil
	}
}

// replayed adds a trial to the study as if proposed; one without a status is
// running.
func replayed(t *sampler.Tracker, relative goptuna.RelativeSampler, m data.Measurement) error {
	id, err := t.Start(m.Config)
	if err == nil && relative != nil {
		_, err = t.Propose(relative, id)
	}
	if err == nil && m.Status != "" {
		err = t.Finish(id, m)
	}
	return err
}

// cma is the covariance matrix adaptation evolution strategy (Hansen, "The CMA
// evolution strategy: a tutorial", 2016).
func cma(p *bayesopt.Problem) (goptuna.Sampler, goptuna.RelativeSampler) {
	return goptuna.NewRandomSampler(goptuna.RandomSamplerOptionSeed(p.Options.Seed)), cmaes.NewSampler(cmaes.SamplerOptionSeed(p.Options.Seed))
}

// parzen is the tree-structured Parzen estimator (Bergstra et al., "Algorithms
// for hyper-parameter optimization", 2011, section 4). It uses the history
// only, so every decision has its own random draws.
func parzen(p *bayesopt.Problem) (goptuna.Sampler, goptuna.RelativeSampler) {
	return tpe.NewSampler(tpe.SamplerOptionSeed(p.Rand().Int64())), nil
}
