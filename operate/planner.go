package operate

import (
	"context"
	"time"

	"knee/allocate/plan"
	"knee/allocate/policy"
	"knee/data"
)

// Planner returns a [Loop.Plan] with the settings of a configuration.
func Planner(c *data.Operate, now func() time.Time) func(ctx context.Context, cluster, jobs string) (*data.Plan, error) {
	return func(_ context.Context, cluster, jobs string) (*data.Plan, error) {
		pr, err := plan.Load(cluster, jobs)
		if err != nil {
			return nil, err
		}
		pr.Objective, pr.Policy, pr.Sizes, pr.Risk, pr.Hysteresis = c.Objective, c.Policy, c.Sizes, c.Risk, c.Hysteresis
		pr.Seed, pr.Now, pr.EqualNodes = 1, now(), c.Scheduler == "slurm"
		return policy.Solve(pr)
	}
}
