package main

import (
	"fmt"
	"os"
	"runtime"

	"github.com/spf13/cobra"

	"knee/data"
)

func newCluster(a *app) *cobra.Command {
	var check string
	cmd := &cobra.Command{
		Use:   "cluster",
		Short: "Describe this machine as a cluster, or check a description",
		Long: `cluster writes a cluster.yaml of one node, this machine, with one worker slot
per processor core. With --check it reads a description, expands its node
names and prints what it holds.`,
		Example: `  knee cluster > cluster.yaml
  knee cluster --check cluster.yaml`,
		Args: cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			if check == "" {
				c, err := thisMachine()
				if err != nil {
					return err
				}
				return data.WriteCluster(a.stdout, c)
			}
			c, err := data.LoadCluster(check)
			if err != nil {
				return err
			}
			t := table{columns: []string{"node", "gpu_type", "gpus", "cpus", "memory", "price_per_hour", "drained"}}
			for _, n := range c.Nodes {
				t.add(n.Name, n.GPUType, fmt.Sprint(n.GPUs), number(n.CPUs), data.FormatQuantity(n.Memory), dollars(n.PricePerHour), fmt.Sprint(n.Drained))
			}
			return format("table").print(a.stdout, c, t)
		},
	}
	cmd.Flags().StringVar(&check, "check", "", "cluster.yaml to check")
	return cmd
}

// thisMachine describes this machine: a worker of the built-in trainer, and
// of most CPU training, is one thread, so a core is a slot.
func thisMachine() (*data.Cluster, error) {
	name, err := os.Hostname()
	if err != nil {
		return nil, fmt.Errorf("ask for the name of this machine: %w", err)
	}
	cores := runtime.NumCPU()
	return &data.Cluster{Nodes: []data.Node{{Name: name, GPUType: "cpu", GPUs: cores, CPUs: float64(cores)}}}, nil
}
