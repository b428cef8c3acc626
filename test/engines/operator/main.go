// Command operator stands in for the controllers of RayJobs and TrainJobs in
// tests: it makes the pods of RayJobs by their specs, removes them while a job is
// suspended or when its size changes, and sets the status when all have ended. For
// TrainJobs it makes only the JobSet. It polls the API server five times a second.
package main

import (
	"context"
	"flag"
	"fmt"
	"log"
	"maps"
	"os/signal"
	"slices"
	"syscall"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"knee/internal/kube"
)

func main() {
	kubeconfig := flag.String("kubeconfig", "", "kubeconfig of the cluster")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM, syscall.SIGINT)
	defer stop()
	client, err := kube.Load(kube.Settings{Kubeconfig: *kubeconfig})
	if err != nil {
		log.Fatal(err)
	}
	// Ray publishes no definition in a module: this one takes anything.
	if err := client.Create(ctx, "/apis/apiextensions.k8s.io/v1/customresourcedefinitions", rayJobs(), nil, false); err != nil {
		log.Printf("the definition of RayJob: %v", err)
	}
	for ctx.Err() == nil {
		jobs, _, err := kube.ListAll[job](ctx, client, "/apis/ray.io/v1/rayjobs", metav1.ListOptions{})
		if err != nil && !kube.IsNotFound(err) && ctx.Err() == nil {
			log.Print(err)
		}
		for i := range jobs {
			if err := reconcile(ctx, client, &jobs[i]); err != nil && ctx.Err() == nil {
				log.Printf("RayJob %s: %v", jobs[i].Name, err)
			}
		}
		if err := trainJobs(ctx, client); err != nil && ctx.Err() == nil {
			log.Printf("TrainJobs: %v", err)
		}
		time.Sleep(200 * time.Millisecond)
	}
}

// rayJobs defines RayJob.
func rayJobs() map[string]any {
	anything := map[string]any{"type": "object", "x-kubernetes-preserve-unknown-fields": true}
	return map[string]any{"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition", "metadata": map[string]any{"name": "rayjobs.ray.io"},
		"spec": map[string]any{"group": "ray.io", "scope": "Namespaced", "names": map[string]any{"kind": "RayJob", "plural": "rayjobs", "singular": "rayjob"},
			"versions": []any{map[string]any{"name": "v1", "served": true, "storage": true, "subresources": map[string]any{"status": map[string]any{}},
				"schema": map[string]any{"openAPIV3Schema": anything}}}}}
}

// group is a number of pods of one template.
type group struct {
	Name     string         `json:"groupName"`
	Replicas *int           `json:"replicas"`
	Template map[string]any `json:"template"`
}

type job struct {
	kube.Object
	Spec struct {
		Suspend bool `json:"suspend"`
		Ray     struct {
			Head    group   `json:"headGroupSpec"`
			Workers []group `json:"workerGroupSpecs"`
		} `json:"rayClusterSpec"`
	} `json:"spec"`
	Status struct {
		JobStatus string `json:"jobStatus"`
	} `json:"status"`
}

// groups are the pods that a job wants, by the middle of their name.
func (j *job) groups() map[string]group {
	out := map[string]group{"head": j.Spec.Ray.Head}
	for _, g := range j.Spec.Ray.Workers {
		out[g.Name] = g
	}
	return out
}

// reconcile makes the pods of a job what its spec says.
func reconcile(ctx context.Context, c *kube.Client, j *job) error {
	if j.Status.JobStatus != "" || j.DeletionTimestamp != nil {
		return nil
	}
	ns := j.Namespace
	pods, _, err := kube.ListAll[corev1.Pod](ctx, c, kube.PodsPath(ns), metav1.ListOptions{LabelSelector: "operator-job=" + string(j.UID)})
	if err != nil {
		return err
	}
	has := map[string]corev1.Pod{}
	for _, p := range pods {
		has[p.Name] = p
	}
	done, failed := 0, ""
	want := map[string]group{}
	for middle, g := range j.groups() {
		for i := range ptr.Deref(g.Replicas, 1) {
			want[fmt.Sprintf("%s-%s-%d", j.Name, middle, i)] = g
		}
	}
	if j.Spec.Suspend {
		clear(want)
	}
	for name, p := range has {
		switch _, wanted := want[name]; {
		case p.DeletionTimestamp != nil:
		case !wanted:
			if err := c.Delete(ctx, kube.PodPath(ns, name), metav1.DeleteOptions{GracePeriodSeconds: new(int64)}); err != nil && !kube.IsNotFound(err) {
				return err
			}
		case p.Status.Phase == "Succeeded":
			done++
		case p.Status.Phase == "Failed":
			failed = name
		}
	}
	for name, g := range want {
		if _, there := has[name]; !there {
			if err := create(ctx, c, j, name, g); err != nil {
				return err
			}
		}
	}
	switch {
	case failed != "":
		return report(ctx, c, j, map[string]any{"jobStatus": "FAILED", "message": "pod " + failed + " has failed"})
	case len(want) > 0 && done == len(want):
		return report(ctx, c, j, map[string]any{"jobStatus": "SUCCEEDED"})
	}
	return nil
}

// create makes one pod.
func create(ctx context.Context, c *kube.Client, j *job, name string, g group) error {
	if err := report(ctx, c, j, map[string]any{"rayClusterName": j.Name}); err != nil {
		return err
	}
	return c.Create(ctx, kube.PodsPath(j.Namespace), map[string]any{"apiVersion": "v1", "kind": "Pod", "spec": j.ranked(g),
		"metadata": map[string]any{"name": name, "labels": map[string]any{"operator-job": j.UID, "ray.io/cluster": j.Name},
			"ownerReferences": []any{map[string]any{"apiVersion": "ray.io/v1", "kind": "RayJob", "name": j.Name, "uid": j.UID}}}}, nil, false)
}

// ranked is the pod spec of a template with the number of workers.
func (j *job) ranked(g group) any {
	world := 0
	for _, w := range j.Spec.Ray.Workers {
		world += ptr.Deref(w.Replicas, 1)
	}
	spec, _ := g.Template["spec"].(map[string]any)
	spec = maps.Clone(spec)
	var containers []any
	for _, c := range spec["containers"].([]any) {
		c := maps.Clone(c.(map[string]any))
		env, _ := c["env"].([]any)
		c["env"] = append(slices.Clone(env), map[string]any{"name": "WORLD_SIZE", "value": fmt.Sprint(world)})
		containers = append(containers, c)
	}
	spec["containers"] = containers
	return spec
}

// report writes to the status of a job.
func report(ctx context.Context, c *kube.Client, j *job, status map[string]any) error {
	return c.Patch(ctx, "/apis/ray.io/v1/namespaces/"+j.Namespace+"/rayjobs/"+j.Name+"/status", map[string]any{"status": status}, nil)
}
