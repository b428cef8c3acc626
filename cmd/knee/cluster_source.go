package main

import (
	"context"
	"fmt"
	"os"
	"runtime"
	"strconv"
	"strings"

	"knee/data"
	"knee/internal/kube"
	"knee/internal/nvidia"
	"knee/internal/slurm"
)

// clusterSources are the values of --from of knee cluster, the default first.
var clusterSources = []string{"machine", "kubernetes", "slurm"}

// readCluster returns the cluster of a source, and warnings of what was left out.
func readCluster(ctx context.Context, source string) (*data.Cluster, []string, error) {
	switch source {
	case "machine":
		return thisMachine(ctx)
	case "kubernetes":
		client, err := kube.Load(kube.Settings{})
		if err != nil {
			return nil, nil, err
		}
		return kube.Cluster(ctx, client)
	case "slurm":
		return slurm.Cluster(ctx)
	}
	return nil, nil, &data.InputError{Source: data.Source{File: "--from"}, Found: strconv.Quote(source), Want: "one of " + strings.Join(clusterSources, ", ")}
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
