package main

import (
	"context"
	"fmt"
	"maps"
	"os"
	"runtime"
	"slices"
	"strconv"
	"strings"

	"knee/data"
	"knee/internal/kube"
	"knee/internal/nvidia"
	"knee/internal/slurm"
)

// thisMachineSource is the default source.
const thisMachineSource = "machine"

// clusterSources lists the values of --from.
func clusterSources() []clusterSource {
	return []clusterSource{
		{thisMachineSource, "this machine, by nvidia-smi where there are GPUs", thisMachine},
		{"kubernetes", "the cluster of the current context, as kubectl finds it", func(ctx context.Context) (*data.Cluster, []string, error) {
			client, err := kube.Load(kube.Settings{})
			if err != nil {
				return nil, nil, err
			}
			return kube.Cluster(ctx, client)
		}},
		{"slurm", "the cluster whose login node this is, by scontrol", slurm.Cluster},
	}
}

// findClusterSource returns the source of a name.
func findClusterSource(name string) (clusterSource, error) {
	for _, s := range clusterSources() {
		if s.name == name {
			return s, nil
		}
	}
	return clusterSource{}, &data.InputError{Source: data.Source{File: "--from"}, Found: strconv.Quote(name), Want: "one of " + clusterSourceNames()}
}

func clusterSourceNames() string {
	var names []string
	for _, s := range clusterSources() {
		names = append(names, s.name)
	}
	return strings.Join(names, ", ")
}

// clusterSourceHelp is the list for the help of the command.
func clusterSourceHelp() string {
	var b strings.Builder
	for _, s := range clusterSources() {
		fmt.Fprintf(&b, "  %-11s %s\n", s.name, s.help)
	}
	return b.String()
}

// thisMachine describes this machine by its GPUs, or by its cores if there
// are none.
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

// machineOfCores describes the processors of this machine. A core is a slot:
// a worker of the built-in trainer, and of most CPU training, is one thread.
func machineOfCores() (data.Node, error) {
	name, err := os.Hostname()
	if err != nil {
		return data.Node{}, fmt.Errorf("ask for the name of this machine: %w", err)
	}
	cores := runtime.NumCPU()
	return data.Node{Name: name, GPUType: "cpu", GPUs: cores, CPUs: float64(cores)}, nil
}

// sortedKeys returns the keys of a set in order.
func sortedKeys(set map[string]bool) []string { return slices.Sorted(maps.Keys(set)) }
