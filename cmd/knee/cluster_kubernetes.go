package main

import (
	"context"

	"knee/data"
	"knee/internal/kube"
)

// kubernetesCluster describes the cluster that kubectl would speak to.
func kubernetesCluster(ctx context.Context) (*data.Cluster, []string, error) {
	client, err := kube.Load(kube.Settings{})
	if err != nil {
		return nil, nil, err
	}
	return kube.Cluster(ctx, client)
}
