package predict

import (
	"errors"
	"fmt"
	"math"
	"slices"

	"knee/data"

	"github.com/dustin/go-humanize/english"
)

// Sweep predicts a scalability curve: base with each number of workers, ascending and
// without repeats, on nodes filled up to the widest measured. A local batch in base is kept
// (weak scaling); otherwise [Predictor.BestBatch] chooses one for every number of workers,
// and numbers without one are left out. It fails with a *data.InputError if workers is
// empty, as BestBatch does if none is left, and as [Predictor.AtAll] does.
func Sweep(p *Predictor, base data.Config, workers []int) ([]Answer, error) {
	if len(workers) == 0 {
		return nil, data.Invalid("workers", "none", "at least one number of workers")
	}
	ks := slices.Clone(workers)
	slices.Sort(ks)
	ks = slices.Compact(ks)
	base.Placement, base.Nodes = nil, 0
	cs := make([]data.Config, 0, len(ks))
	var failed error
	for _, k := range ks {
		base.Workers = k
		c := base
		if base.LocalBatch <= 0 {
			var err error
			if c, err = p.chooseBatch(base); err != nil {
				failed = fmt.Errorf("%s: %w", english.Plural(k, "worker", ""), err)
				continue
			}
		}
		cs = append(cs, c)
	}
	if len(cs) == 0 {
		return nil, failed
	}
	answers, err := p.AtAll(cs)
	var row *RowError
	if errors.As(err, &row) {
		return nil, fmt.Errorf("%s: %w", english.Plural(cs[row.Row].Workers, "worker", ""), row.Err)
	}
	return answers, err
}

// Sweeps predicts every run of configurations that differ in workers only as [Sweep] does.
func Sweeps(p *Predictor, configs []data.Config) (curves [][]Answer, err error) {
	for len(configs) > 0 {
		base := configs[0]
		var workers []int
		for _, c := range configs {
			if base.Workers = c.Workers; c.Key() != base.Key() {
				break
			}
			workers = append(workers, c.Workers)
		}
		configs = configs[len(workers):]
		curve, err := Sweep(p, base, workers)
		if err != nil {
			return nil, err
		}
		curves = append(curves, curve)
	}
	return curves, nil
}

// kneeGain is the least elasticity up to the [Knee], half that of linear scaling.
const kneeGain = .5

// Knee returns the index of the knee of a scalability curve, given in ascending order of
// workers; −1 if there are no answers or no goodput because no batch is known.
//
// The marginal gain from k₁ to k₂ workers is the elasticity of goodput G, ln(G₂/G₁) /
// ln(k₂/k₁): 1 for linear scaling, 0 at the peak. The knee is the largest number of workers
// with one of at least ½ from the previous number that had one, so that twice the workers
// multiply goodput by √2 or more. More workers may make up for a dip.
func Knee(answers []Answer) int {
	if len(answers) > 0 && answers[0].Goodput.Mean == 0 {
		return -1
	}
	return KneeOf(answers, Answer.Rate)
}

// KneeOf is [Knee] of another rate. That of throughput comes later, as larger global
// batches are less efficient.
func KneeOf(answers []Answer, rate func(Answer) float64) int {
	if len(answers) == 0 {
		return -1
	}
	knee := 0
	for i := 1; i < len(answers); i++ {
		from, to := answers[knee], answers[i]
		more := math.Log(float64(to.Config.Workers) / float64(from.Config.Workers))
		if more > 0 && rate(from) > 0 && math.Log(rate(to)/rate(from))/more >= kneeGain {
			knee = i
		}
	}
	return knee
}

// Rate returns goodput, samples/s, or steps per second if no batch is known.
func (a Answer) Rate() float64 {
	if a.Goodput.Mean > 0 {
		return a.Goodput.Mean
	}
	if a.StepTime.Mean > 0 {
		return 1 / a.StepTime.Mean
	}
	return 0
}
