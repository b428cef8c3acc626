package predict

import (
	"errors"
	"fmt"
	"slices"

	"knee/data"
)

// Sweep predicts a scalability curve: base with each number of workers, in
// ascending order without repeats. Placement and nodes of base are dropped:
// workers fill nodes as wide as the widest measured.
//
// If base has a local batch it is kept (weak scaling); otherwise
// [Predictor.BestBatch] chooses one for every number of workers. It fails if
// workers is empty or as those do.
func Sweep(p *Predictor, base data.Config, workers []int) ([]Answer, error) {
	if len(workers) == 0 {
		return nil, &data.InputError{Source: data.Source{Column: "workers"}, Found: "none", Want: "at least one number of workers"}
	}
	ks := slices.Clone(workers)
	slices.Sort(ks)
	ks = slices.Compact(ks)
	base.Placement, base.Nodes = nil, 0
	cs := make([]data.Config, 0, len(ks))
	for _, k := range ks {
		base.Workers = k
		c, err := base, error(nil)
		if base.LocalBatch <= 0 {
			c, err = p.chooseBatch(base)
		}
		if err != nil {
			return nil, fmt.Errorf("%d workers: %w", k, err)
		}
		cs = append(cs, c)
	}
	answers, err := p.AtAll(cs)
	var row *RowError
	if errors.As(err, &row) {
		return nil, fmt.Errorf("%d workers: %w", ks[row.Row], row.Err)
	}
	return answers, err
}

// kneeGain is the marginal gain a worker must still bring for [Knee]: half
// of what it would bring if scaling were linear.
const kneeGain = .5

// Knee returns the index of the knee of a scalability curve, whose answers
// are in ascending order of workers; −1 if there are none.
//
// The marginal gain of going from k₁ to k₂ workers is the relative gain in
// goodput per relative gain in workers, the elasticity
//
//	ln(G₂/G₁) / ln(k₂/k₁)
//
// which is 1 for linear scaling, whatever the scale, and 0 at the peak. The
// knee is the largest number of workers that still has an elasticity of at
// least ½, measured from the last number that had: there, doubling the
// workers multiplies goodput by √2 or more. Beyond it, workers bring less
// than half of their fair share, and most clusters have a better use for
// them. A dip that more workers make good for does not end the search, and
// the knee is never beyond the peak, from which no elasticity is positive.
// Where no batch is known there is no goodput, and no knee: −1.
func Knee(answers []Answer) int {
	if len(answers) > 0 && answers[0].Goodput.Mean == 0 {
		return -1
	}
	return KneeOf(answers, rate)
}

// KneeOf is [Knee] of another rate than goodput, such as the throughput that
// a figure shows. Throughput has its knee later: it does not see that larger
// global batches are worth less.
func KneeOf(answers []Answer, rate func(Answer) float64) int {
	if len(answers) == 0 {
		return -1
	}
	knee := 0
	for i := 1; i < len(answers); i++ {
		if elasticity(answers[knee], answers[i], rate) >= kneeGain {
			knee = i
		}
	}
	return knee
}
