package plan

import (
	"math"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/stat"

	"knee/allocate"
	"knee/allocate/objective"
	"knee/allocate/solve"
	"knee/data"
)

// knowing is what a plan would be expected to gain if the speeds of job i were known: the
// expected value of perfect information (Howard, "Information value theory", 1966). In
// each draw from the posterior of its model the job gets the option that is the best
// there at the prices of GPUs, other resources and quotas, in place of the one that is the
// best over all draws. Options that alone exceed the cluster or a quota are left out. It
// is 0 for a job without a posterior.
func (p *prepared) knowing(i int, best *solve.Solution) float64 {
	m, fitted := p.oracles[i].(modelled)
	if !fitted {
		return 0
	}
	job := &p.state.Jobs[i]
	var options []allocate.Option
	var at []data.Config
	var costs []float64
	for _, o := range job.Options {
		branch, cost := best.Limits.Branch(o.Use.GPUType, job.History.Tenant), 0.
		shares, most := best.Limits.Shares(branch, &o.Use)
		for n, d := range best.Limits.Branches[branch].Dims {
			cost += best.Dual[d] * shares[n]
		}
		if most <= 1+allocate.Slack {
			options, at, costs = append(options, o), append(at, o.Config), append(costs, cost)
		}
	}
	ln, _, _, err := m.Model.Draws(at)
	if err != nil || len(ln) == 0 { // no option, or a published family without a posterior
		return 0
	}
	surplus := make([][]float64, len(options)) // of every option in every draw
	most, means := make([]float64, len(ln[0])), make([]float64, len(options))
	for d := range most {
		most[d] = job.Idle
	}
	for n := range options {
		surplus[n] = make([]float64, len(most))
		for d := range most {
			o := options[n]
			slower := math.Exp(ln[n][d]) / o.Answer.StepTime.Mean
			o.Answer.Goodput = data.Estimate{Mean: o.Answer.Goodput.Mean / slower}
			o.Answer.TimeToTarget, o.Answer.Expected = o.Answer.TimeToTarget.Scale(slower), 0
			surplus[n][d] = objective.ValueOf(p.objective, p.subjects[i], &o) - costs[n]
			most[d] = max(most[d], surplus[n][d])
		}
		means[n] = stat.Mean(surplus[n], nil)
	}
	return max(0, stat.Mean(most, nil)-max(floats.Max(means), job.Idle))
}
