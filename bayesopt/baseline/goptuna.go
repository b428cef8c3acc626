package baseline

import (
	"fmt"
	"strconv"

	"github.com/c-bata/goptuna"
	"github.com/c-bata/goptuna/cmaes"
	"github.com/c-bata/goptuna/tpe"

	"knee/bayesopt"
)

// fromGoptuna picks the open candidate nearest to the proposal of a goptuna sampler, whose
// parameters are the features. The samplers have state, so every decision replays the whole
// history: a proposal of the past is replaced by the candidate that was measured.
func fromGoptuna(name string, samplers func(p *bayesopt.Problem) (goptuna.Sampler, goptuna.RelativeSampler)) pick {
	return func(p *bayesopt.Problem) (int, string, string, error) {
		independent, relative := samplers(p)
		features := map[string]interface{}{}
		for j := range p.Points[0] {
			features[strconv.Itoa(j)] = goptuna.UniformDistribution{High: 1}
		}
		study, err := goptuna.CreateStudy(name, goptuna.StudyOptionLogger(nil), goptuna.StudyOptionDefineSearchSpace(features),
			goptuna.StudyOptionSampler(independent), goptuna.StudyOptionRelativeSampler(relative))
		if err != nil {
			return 0, "", "", fmt.Errorf("strategy %s: %w", name, err)
		}
		x, y := p.Objectives()
		proposal, trials := make([]float64, len(features)), 0
		err = study.Optimize(func(trial goptuna.Trial) (_ float64, err error) {
			for j := range proposal {
				if proposal[j], err = trial.SuggestFloat(strconv.Itoa(j), 0, 1); err != nil {
					return 0, err
				}
			}
			if trials == len(x) {
				return 0, nil // the next trial
			}
			for j, v := range x[trials] {
				if err := study.Storage.SetTrialParam(trial.ID, strconv.Itoa(j), v, goptuna.UniformDistribution{High: 1}); err != nil {
					return 0, err
				}
			}
			trials++
			return y[trials-1], nil
		}, len(x)+1)
		if err != nil {
			return 0, "", "", fmt.Errorf("strategy %s: %w", name, err)
		}
		return nearest(p, proposal), "nearest untried candidate to the point that goptuna's " + name + " proposes", "", nil
	}
}

// cma is the covariance matrix adaptation evolution strategy (Hansen, "The CMA
// evolution strategy: a tutorial", 2016).
func cma(p *bayesopt.Problem) (goptuna.Sampler, goptuna.RelativeSampler) {
	return goptuna.NewRandomSampler(goptuna.RandomSamplerOptionSeed(p.Options.Seed)), cmaes.NewSampler(cmaes.SamplerOptionSeed(p.Options.Seed))
}

// parzen is the tree-structured Parzen estimator (Bergstra et al., "Algorithms
// for hyper-parameter optimization", 2011, section 4). It uses the history
// only, so every decision has its own random draws. goptuna v0.9.0 takes part of them from
// the process-wide source: the same seed need not give the same search.
func parzen(p *bayesopt.Problem) (goptuna.Sampler, goptuna.RelativeSampler) {
	return tpe.NewSampler(tpe.SamplerOptionSeed(p.Rand().Int64())), nil
}
