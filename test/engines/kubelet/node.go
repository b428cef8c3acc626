//go:build unix

package main

import (
	"context"
	"log"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"knee/internal/kube"
)

// heartbeatEvery is how often a node reports.
const heartbeatEvery = 2 * time.Second

// register creates a node, in place of one of the same name.
func (a *agent) register(ctx context.Context, n nodeSpec) error {
	path := kube.NodesPath() + "/" + n.name
	if err := a.client.Delete(ctx, path, metav1.DeleteOptions{}); err != nil {
		return err
	}
	labels := map[string]string{"kubernetes.io/hostname": n.name, "kubernetes.io/os": "linux"}
	resources := map[string]string{"cpu": n.cpu, "memory": n.memory, "pods": "110"}
	if n.gpus != "" {
		resources["nvidia.com/gpu"] = n.gpus
	}
	if n.gpuType != "" {
		labels["nvidia.com/gpu.product"] = n.gpuType
	}
	spec := map[string]any{}
	if n.taint != "" {
		key, effect, _ := strings.Cut(n.taint, ":")
		spec["taints"] = []any{map[string]any{"key": key, "effect": effect}}
	}
	node := map[string]any{"apiVersion": "v1", "kind": "Node", "metadata": map[string]any{"name": n.name, "labels": labels}, "spec": spec}
	if err := a.client.Create(ctx, kube.NodesPath(), node, nil, false); err != nil {
		return err
	}
	return a.change(ctx, path, path+"/status", func(o map[string]any) {
		o["status"] = map[string]any{"allocatable": resources, "capacity": resources, "conditions": ready(),
			"addresses":       []any{map[string]any{"type": "InternalIP", "address": loopback}},
			"daemonEndpoints": map[string]any{"kubeletEndpoint": map[string]any{"Port": a.port}}}
	})
}

const loopback = "127.0.0.1"

func ready() []any {
	now := time.Now().UTC().Format(time.RFC3339)
	return []any{map[string]any{"type": "Ready", "status": "True", "reason": "KubeletReady", "lastHeartbeatTime": now, "lastTransitionTime": now}}
}

// heartbeat keeps a node ready for as long as it is not to be lost.
func (a *agent) heartbeat(ctx context.Context, name string) {
	path := kube.NodesPath() + "/" + name
	tick := time.NewTicker(heartbeatEvery)
	defer tick.Stop()
	for {
		select {
		case <-tick.C:
		case <-ctx.Done():
			return
		}
		if a.lost(name) {
			continue
		}
		err := a.change(ctx, path, path+"/status", func(o map[string]any) {
			if s, ok := o["status"].(map[string]any); ok {
				s["conditions"] = ready()
			}
		})
		if err != nil && ctx.Err() == nil {
			log.Printf("node %s: %v", name, err)
		}
	}
}

// change reads an object, changes it, and writes it back under path to, again
// if somebody else has written it in the meantime.
func (a *agent) change(ctx context.Context, from, to string, f func(map[string]any)) error {
	var err error
	for range 20 {
		var o map[string]any
		if err = a.client.Get(ctx, from, &o); err != nil {
			return err
		}
		f(o)
		if err = a.client.Update(ctx, to, o, nil); !kube.IsConflict(err) {
			return err
		}
	}
	return err
}
