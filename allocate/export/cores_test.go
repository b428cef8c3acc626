package export

import (
	"testing"

	"knee/data"
)

// Slurm gives a task whole cores: tasks that share those of a node in the plan may not fit.
func TestSlurmGivesTasksWholeCores(t *testing.T) {
	j := elasticJob()
	j.Resources = data.PlanNeeds{WorkerCPUs: .5}
	p := data.Plan{Jobs: []data.PlannedJob{j, j}}
	const said = "node t01 has 2 cores, and Slurm, which gives every task whole ones, is asked for 4: give resources in whole cores and plan again"
	for _, tt := range []struct {
		cores map[string]float64
		want  string
	}{
		{nil, ""},
		{map[string]float64{"t01": 4, "t02": 4}, ""},
		{map[string]float64{"t01": 2, "t02": 4}, said},
		{map[string]float64{"t01": 2, "t02": 3}, said + " (and 1 more node)"},
	} {
		p.NodeCPUs = tt.cores
		if got := BeyondCores(p); got != tt.want {
			t.Errorf("%v: %q, want %q", tt.cores, got, tt.want)
		}
	}
}
