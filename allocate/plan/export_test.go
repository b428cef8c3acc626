package plan

import (
	"knee/allocate"
	"knee/data"

	"pgregory.net/rapid"
)

// Drawn is a problem of jobs whose speed is known, for tests of policies.
type Drawn struct {
	Problem
	oracles []oracle
}

// Draw draws one.
func Draw(t *rapid.T) Drawn {
	pr, oracles := drawProblem(t)
	return Drawn{pr, oracles}
}

// Solve is that of the package.
func (d Drawn) Solve(policy allocate.Policy) (*data.Plan, error) {
	return solveWith(d.Problem, d.oracles, policy)
}

// Adopt makes a plan what runs.
func (d *Drawn) Adopt(made *data.Plan) { adopt(&d.Problem, made) }

// Check asserts what holds for every plan.
func (d Drawn) Check(t rapid.TB, made *data.Plan) { checkPlan(t, d.Problem, made) }
