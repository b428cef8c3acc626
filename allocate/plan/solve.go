package plan

import (
	"fmt"

	"knee/allocate"
	"knee/allocate/objective"
	"knee/allocate/place"
	"knee/allocate/solve"
	"knee/data"
)

// Solve makes a plan with a policy, which the plan calls by the name in the
// problem; nil is [solve.MarginalGain].
//
// The error is an [Infeasible] if not one job fits the cluster, a
// [data.InputError] if a job is described wrongly. A single job that does
// not fit is paused with a warning.
func Solve(pr Problem, policy allocate.Policy) (*data.Plan, error) {
	oracles, err := oraclesOf(pr)
	if err != nil {
		return nil, err
	}
	return solveWith(pr, oracles, policy)
}

func solveWith(pr Problem, oracles []oracle, policy allocate.Policy) (*data.Plan, error) {
	p, err := prepare(pr, oracles)
	if err != nil {
		return nil, err
	}
	return p.run(policy)
}

// run lets the policy choose, places the choice and writes the plan.
func (p *prepared) run(policy allocate.Policy) (*data.Plan, error) {
	best, err := solve.Maximise(p.state)
	if err != nil {
		return nil, err
	}
	a := best.Assignment
	if policy != nil {
		if a, err = policy.Allocate(p.state); err != nil {
			return nil, fmt.Errorf("policy %s: %w", p.Policy, err)
		}
		if err := a.Check(p.state); err != nil {
			return nil, fmt.Errorf("policy %s: %w", p.Policy, err)
		}
	}
	placed, placer := place.All(p.state, a, p.standing, p.respeed)
	return p.plan(best, placed, placer), nil
}

// respeed predicts a shape that is not in the option table.
func (p *prepared) respeed(i int, c data.Config) (allocate.Option, bool) {
	job := p.Jobs[i]
	a, err := answer(job, p.oracles[i], c)
	if err != nil {
		return allocate.Option{}, false
	}
	o := allocate.Option{Config: a.Config, Answer: a, Use: allocate.UseOf(a.Config, job.Resources)}
	o.Value = objective.ValueOf(p.objective, p.subjects[i], &o)
	return o, true
}
