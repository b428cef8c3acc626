package main

import (
	"context"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"knee/internal/kube"
)

// trainJob is what is read of a TrainJob.
type trainJob struct {
	kube.Object
	Spec struct {
		Suspend bool `json:"suspend"`
		Trainer struct {
			NumNodes *int `json:"numNodes"`
		} `json:"trainer"`
	} `json:"spec"`
}

// trainJobs gives every TrainJob a JobSet of its size, as the trainer does while
// the JobSet is suspended. No pods come of it.
func trainJobs(ctx context.Context, c *kube.Client) error {
	jobs, _, err := kube.ListAll[trainJob](ctx, c, "/apis/trainer.kubeflow.org/v1alpha1/trainjobs", metav1.ListOptions{})
	if err != nil {
		if kube.IsNotFound(err) {
			return nil
		}
		return err
	}
	for _, j := range jobs {
		n := ptr.Deref(j.Spec.Trainer.NumNodes, 1)
		spec := map[string]any{"suspend": j.Spec.Suspend, "replicatedJobs": []any{map[string]any{"name": "node", "replicas": 1, "template": map[string]any{
			"metadata": map[string]any{"labels": map[string]any{"trainer.kubeflow.org/trainjob-ancestor-step": "trainer"}},
			"spec": map[string]any{"parallelism": n, "completions": n, "completionMode": "Indexed",
				"template": map[string]any{"spec": map[string]any{"restartPolicy": "Never", "containers": []any{map[string]any{"name": "node", "image": "none"}}}}}}}}}
		sets := "/apis/jobset.x-k8s.io/v1alpha2/namespaces/" + j.Namespace + "/jobsets"
		var has kube.Object
		switch err := c.Get(ctx, sets+"/"+j.Name, &has); {
		case kube.IsNotFound(err):
			err = c.Create(ctx, sets, map[string]any{"apiVersion": "jobset.x-k8s.io/v1alpha2", "kind": "JobSet", "metadata": map[string]any{"name": j.Name}, "spec": spec}, nil, false)
			if err != nil {
				return err
			}
		case err != nil:
			return err
		default:
			if err := c.Patch(ctx, sets+"/"+j.Name, map[string]any{"spec": spec}, nil); err != nil {
				return err
			}
		}
	}
	return nil
}
