package compare

import (
	"fmt"
	"path/filepath"
	"testing"

	"knee/allocate/simulate"
	"knee/data"
	"knee/internal/bench"
)

// philly is a cluster of about the size of the trace: 550 nodes, 2,492 GPUs.
func philly() *data.Cluster {
	c := &data.Cluster{}
	for i := range 550 {
		n := data.Node{Name: fmt.Sprintf("n%03d", i), GPUType: "p100", GPUs: 2}
		if i < 232 {
			n.GPUs = 8
		}
		c.Nodes = append(c.Nodes, n)
	}
	return c
}

// BenchmarkPhilly replays the 82,247 jobs of the Philly trace.
func BenchmarkPhilly(b *testing.B) {
	jobs, _, err := simulate.LoadWorkload(filepath.Join(bench.Dir(b), "workloads", "philly-jobs.csv"))
	if err != nil {
		b.Skip(err)
	}
	for _, policy := range []string{"srtf", "tiresias-las"} {
		b.Run(policy, func(b *testing.B) {
			for b.Loop() {
				s := Settings{Cases: []Case{{Name: "philly", Jobs: jobs, Cluster: philly()}}, Policies: []string{policy}}
				if _, err := Run(b.Context(), s); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
