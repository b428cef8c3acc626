package main

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"knee/data"
)

func newCluster(a *app) *cobra.Command {
	var check, from string
	prices := priceFlag{}
	cmd := &cobra.Command{
		Use:   "cluster",
		Short: "Describe a cluster, or check a description",
		Long: `cluster describes this machine as cluster.yaml: its GPUs as nvidia-smi lists them,
else one worker slot per core. --from names another source:

  machine      this machine, by nvidia-smi where there are GPUs
  kubernetes   the cluster of the current context, as kubectl finds it
  slurm        the cluster whose login node this is, by scontrol

Give prices with --price.

--check reads a cluster.yaml and prints its nodes.`,
		Example: `  knee cluster > cluster.yaml
  knee cluster --check cluster.yaml
  knee cluster --from slurm --price a100=2.5,v100=1.2 > cluster.yaml`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if check != "" {
				return checkCluster(a, check)
			}
			c, warnings, err := readCluster(cmd.Context(), from)
			if err != nil {
				return err
			}
			a.warn(warnings...)
			a.warn(prices.apply(c)...)
			return data.WriteCluster(a.stdout, c)
		},
	}
	f := cmd.Flags()
	f.StringVar(&check, "check", "", "cluster.yaml to check")
	f.StringVar(&from, "from", clusterSources[0], "source: "+strings.Join(clusterSources, ", "))
	f.Var(prices, "price", "US$ per GPU-hour, such as a100=3.2")
	cmd.MarkFlagsMutuallyExclusive("check", "from")
	return cmd
}

func checkCluster(a *app, path string) error {
	c, err := data.LoadCluster(path)
	if err != nil {
		return err
	}
	t := table{columns: []string{"node", "gpu_type", "gpus", "cpus", "memory", "price_per_hour", "drained"}}
	for _, n := range c.Nodes {
		t.add(n.Name, n.GPUType, fmt.Sprint(n.GPUs), number(n.CPUs), data.FormatQuantity(n.Memory), dollars(n.PricePerHour), fmt.Sprint(n.Drained))
	}
	return format("table").print(a.stdout, c, t)
}

// apply sets the price of every node whose GPU type has one, and warns of
// prices for types that the cluster does not have.
func (p priceFlag) apply(c *data.Cluster) (warnings []string) {
	for i, n := range c.Nodes {
		if price, ok := p[n.GPUType]; ok {
			c.Nodes[i].PricePerHour = price * float64(n.GPUs)
		}
	}
	for _, gpu := range slices.Sorted(maps.Keys(p)) {
		if !slices.Contains(c.GPUTypes(), gpu) {
			warnings = append(warnings, fmt.Sprintf("--price %s: the cluster has no such GPUs, only %s", gpu, strings.Join(c.GPUTypes(), ", ")))
		}
	}
	return warnings
}
