package main

import (
	"context"
	"fmt"
	"os"
	"runtime"

	"github.com/spf13/cobra"

	"knee/data"
	"knee/internal/kube"
	"knee/internal/nvidia"
	"knee/internal/slurm"
)

func newCluster(a *app) *cobra.Command {
	var check, from string
	var prices priceFlag
	cmd := answering("cluster", func(cmd *cobra.Command, _ []string, out format) error {
		if check != "" {
			c, err := data.Load(check, data.ReadCluster)
			if err != nil {
				return err
			}
			if !cmd.Flags().Changed("output") {
				out = "table"
			}
			return a.printCluster(c, out)
		}
		read := map[string]func(context.Context) (*data.Cluster, []string, error){
			"machine": thisMachine, "slurm": slurm.Cluster, "kubernetes": kubernetesCluster}[from]
		c, warnings, err := read(cmd.Context())
		if err != nil {
			return err
		}
		a.warn(append(warnings, prices.unknown("the cluster", c.GPUTypes())...)...)
		for i, n := range c.Nodes {
			if price, ok := prices[n.GPUType]; ok {
				c.Nodes[i].PricePerHour = price * float64(n.GPUs)
			}
		}
		return a.printCluster(c, out)
	}, "yaml")
	cmd.Flags().StringVar(&check, "check", "", "cluster.yaml to check")
	oneOf(cmd, &from, "from", "source", "machine", "kubernetes", "slurm")
	priced(cmd, &prices)
	cmd.MarkFlagsMutuallyExclusive("check", "from")
	cmd.MarkFlagsMutuallyExclusive("check", "price")
	return cmd
}

func (a *app) printCluster(c *data.Cluster, out format) error {
	if out == "yaml" {
		return data.WriteCluster(a.stdout, c)
	}
	t := newTable("name,gpu_type,gpus,cpus,memory_bytes,price_per_hour,drained", "name,gpu_type,gpus,cpus,memory,price_per_hour,drained")
	for _, n := range c.Nodes {
		t.add(n.Name, n.GPUType, n.GPUs, orEmpty(n.CPUs), orEmpty(float64(n.Memory)), n.PricePerHour, n.Drained)
		t.people.add(n.Name, n.GPUType, n.GPUs, orEmpty(n.CPUs), data.FormatQuantity(n.Memory), dollars(n.PricePerHour), n.Drained)
	}
	return out.print(a.stdout, c, t)
}

func kubernetesCluster(ctx context.Context) (*data.Cluster, []string, error) {
	client, err := kube.Load(kube.Settings{})
	if err != nil {
		return nil, nil, err
	}
	return kube.Cluster(ctx, client)
}

// thisMachine describes this machine by its GPUs, or by its cores without any.
func thisMachine(ctx context.Context) (*data.Cluster, []string, error) {
	node, err := machineOfCores()
	if err != nil {
		return nil, nil, err
	}
	gpus, err := nvidia.List(ctx)
	if nvidia.Absent(err) {
		return &data.Cluster{Nodes: []data.Node{node}}, nil, nil
	}
	if err != nil {
		return nil, nil, fmt.Errorf("ask for the GPUs of this machine: %w", err)
	}
	var warnings []string
	node.GPUType, node.GPUs = data.GPUTypeOf(gpus[0].Name), 0
	for _, g := range gpus {
		if data.GPUTypeOf(g.Name) == node.GPUType {
			node.GPUs++
			continue
		}
		// A node of cluster.yaml has one type of GPU.
		warnings = append(warnings, fmt.Sprintf("GPU %d, %s, is left out: a node of cluster.yaml has one type of GPU, here %s", g.Index, g.Name, node.GPUType))
	}
	return &data.Cluster{Nodes: []data.Node{node}}, warnings, nil
}

// machineOfCores has a slot for each core: most CPU workers are one thread.
func machineOfCores() (data.Node, error) {
	name, err := os.Hostname()
	if err != nil {
		return data.Node{}, fmt.Errorf("ask for the name of this machine: %w", err)
	}
	cores := runtime.NumCPU()
	return data.Node{Name: name, GPUType: "cpu", GPUs: cores, CPUs: float64(cores)}, nil
}
