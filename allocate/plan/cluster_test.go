package plan

import (
	"fmt"

	"knee/data"
)

func testCluster(nodes ...data.Node) *data.Cluster { return &data.Cluster{Nodes: nodes} }

func nodes(gpuType string, count, gpus int) []data.Node {
	var out []data.Node
	for i := range count {
		out = append(out, data.Node{Name: fmt.Sprintf("%s%d", gpuType, i+1), GPUType: gpuType, GPUs: gpus})
	}
	return out
}
