package allocate

import (
	"fmt"

	"knee/data"
)

// Names of the policies this package can run by itself.
const (
	PolicyMarginalGain = "marginal-gain"
	PolicyEven         = "even"
)

// Solve makes a plan with the policy of this package, [MarginalGain], or
// with [EvenSplit] if the problem names it. Package allocate/policy has the
// others and a function that takes any name.
//
// The error is an [Infeasible] if not one job fits the cluster, a
// [data.InputError] if a job is described wrongly. A single job that does
// not fit is paused with a warning.
func Solve(pr Problem) (*data.Plan, error) {
	switch pr.Policy {
	case "", PolicyMarginalGain:
		pr.Policy = PolicyMarginalGain
		return SolveWith(pr, MarginalGain{})
	case PolicyEven:
		return EvenSplit(pr)
	}
	return nil, fmt.Errorf("allocate: policy %q is not one of this package, %s and %s; see allocate/policy", pr.Policy, PolicyMarginalGain, PolicyEven)
}

// SolveWith makes a plan with a given policy, which the plan calls by the
// name in the problem.
func SolveWith(pr Problem, policy Policy) (*data.Plan, error) {
	oracles, err := oraclesOf(pr)
	if err != nil {
		return nil, err
	}
	return solveWith(pr, oracles, policy)
}

func solveWith(pr Problem, oracles []oracle, policy Policy) (*data.Plan, error) {
	p, err := prepare(pr, oracles, false)
	if err != nil {
		return nil, err
	}
	return p.run(policy)
}

// EvenSplit makes the plan that people make by hand: every job the same
// number of GPUs, within its limits, at its initial batch. It is valued by
// the problem's objective and bounded by the same bound as [Solve], so that
// the two plans compare.
func EvenSplit(pr Problem) (*data.Plan, error) {
	oracles, err := oraclesOf(pr)
	if err != nil {
		return nil, err
	}
	return evenSplit(pr, oracles)
}

func evenSplit(pr Problem, oracles []oracle) (*data.Plan, error) {
	pr.Policy = PolicyEven
	full, err := prepare(pr, oracles, false)
	if err != nil {
		return nil, err
	}
	p, err := prepare(pr, oracles, true)
	if err != nil {
		return nil, err
	}
	for i := range p.subjects { // one yardstick for both plans
		p.subjects[i].Fair = full.subjects[i].Fair
		SetValues(p.objective, p.subjects[i], p.state.Jobs[i].Options)
	}
	return p.run(Even{})
}

// run lets the policy choose, places the choice and writes the plan.
func (p *prepared) run(policy Policy) (*data.Plan, error) {
	best, err := Maximise(p.state)
	if err != nil {
		return nil, err
	}
	a := best.Assignment
	if policy != (MarginalGain{}) {
		if a, err = policy.Allocate(p.state); err != nil {
			return nil, fmt.Errorf("policy %s: %w", p.Policy, err)
		}
		if err := a.Check(p.state); err != nil {
			return nil, fmt.Errorf("policy %s: %w", p.Policy, err)
		}
	}
	placed, placer := PlaceAll(p.state, a, p.standing, p.respeed)
	return p.plan(best, placed, placer), nil
}

// respeed predicts a shape that is not in the option table.
func (p *prepared) respeed(i int, c data.Config) (Option, bool) {
	job := p.Jobs[i]
	a, err := answer(job, p.oracles[i], c)
	if err != nil {
		return Option{}, false
	}
	o := Option{Config: a.Config, Answer: a, Use: UseOf(a.Config, job.Resources)}
	o.Value = valueOf(p.objective, p.subjects[i], o)
	return o, true
}
