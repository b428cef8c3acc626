package plan

import (
	"math"
	"slices"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/stat"

	"knee/allocate"
	"knee/allocate/objective"
	"knee/data"
)

// knowing is what a plan would be expected to gain if the speeds of job i were known: the
// expected value of perfect information (Howard, "Information value theory", 1966). In
// each draw from the posterior of its model the job gets the option that is the best
// there at the prices of GPUs, in place of the one that is the best over all draws. Options
// that alone exceed the cluster or a quota are left out. It is 0 for a job without a
// posterior.
func (p *prepared) knowing(i int, prices map[string]float64) float64 {
	m, fitted := p.oracles[i].(modelled)
	job, limits := &p.state.Jobs[i], p.state.Capacity()
	options := slices.DeleteFunc(slices.Clone(job.Options), func(o allocate.Option) bool {
		_, most := limits.Shares(limits.Branch(o.Use.GPUType, job.History.Tenant), &o.Use)
		return most > 1+allocate.Slack
	})
	if !fitted || len(options) == 0 {
		return 0
	}
	at := make([]data.Config, len(options))
	for n := range options {
		at[n] = options[n].Config
	}
	ln, _, _, err := m.Model.Draws(at)
	if err != nil { // such as a published family without a posterior
		return 0
	}
	surplus := make([][]float64, len(options)) // of every option in every draw
	best, means := make([]float64, len(ln[0])), make([]float64, len(options))
	for d := range best {
		best[d] = job.Idle
	}
	for n := range options {
		surplus[n] = make([]float64, len(best))
		for d := range best {
			o := options[n]
			slower := math.Exp(ln[n][d]) / o.Answer.StepTime.Mean
			o.Answer.Goodput = o.Answer.Goodput.Scale(1 / slower)
			o.Answer.Goodput = data.Estimate{Mean: o.Answer.Goodput.Mean}
			o.Answer.TimeToTarget, o.Answer.Expected = o.Answer.TimeToTarget.Scale(slower), 0
			surplus[n][d] = objective.ValueOf(p.objective, p.subjects[i], &o) - prices[o.Use.GPUType]*float64(o.Use.GPUs)
			best[d] = max(best[d], surplus[n][d])
		}
		means[n] = stat.Mean(surplus[n], nil)
	}
	return max(0, stat.Mean(best, nil)-max(floats.Max(means), job.Idle))
}
