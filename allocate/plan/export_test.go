package plan

import (
	"time"

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

// Check asserts what holds for every plan.
func (d Drawn) Check(t rapid.TB, made *data.Plan) { checkPlan(t, d.Problem, made) }

// Growing is a job on one of four GPUs that would run faster on all of them, and
// loses restart seconds if it changes.
func Growing(now time.Time, restart float64) Drawn {
	job := named("a", 1, 4)
	job.RestartSeconds, job.Submitted, job.Requested = restart, now.Add(-time.Hour), 1
	job.Current = &data.Current{GPUType: "t4", Mode: data.AllReduce, Placement: data.Placement{1}, Nodes: []string{"t41"}, LocalBatch: 64}
	return Drawn{Problem{Cluster: testCluster(nodes("t4", 1, 4)...), Jobs: []data.Job{job}, Now: now}, []oracle{t4(0.8, 1e6)}}
}
