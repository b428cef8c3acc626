// Command operator stands in for the controllers of the Kubernetes jobs that no
// controller manager knows, in tests: it makes the pods of PyTorchJobs and
// RayJobs as their specs say, removes them while a job is suspended or has
// another size, and writes down when all have ended. TrainJobs get their JobSet
// and no more. It looks at the API server five times a second.
package main

import (
	"context"
	"flag"
	"fmt"
	"hash/crc32"
	"log"
	"maps"
	"os/signal"
	"strconv"
	"strings"
	"syscall"
	"time"

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
		for _, k := range kinds {
			jobs, _, err := kube.ListAll[job](ctx, client, "/apis/"+k.group+"/"+k.resource, kube.Selector{})
			if err != nil && !kube.IsNotFound(err) && ctx.Err() == nil {
				log.Print(err)
			}
			for i := range jobs {
				if err := reconcile(ctx, client, k, &jobs[i]); err != nil && ctx.Err() == nil {
					log.Printf("%s %s: %v", k.kind, jobs[i].Metadata.Name, err)
				}
			}
		}
		if err := trainJobs(ctx, client); err != nil && ctx.Err() == nil {
			log.Printf("TrainJobs: %v", err)
		}
		time.Sleep(200 * time.Millisecond)
	}
}

// kind is a kind of job and the condition or state that says that it has ended.
type kind struct{ kind, group, resource string }

var kinds = []kind{{"PyTorchJob", "kubeflow.org/v1", "pytorchjobs"}, {"RayJob", "ray.io/v1", "rayjobs"}}

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

func (g group) pods() int {
	if g.Replicas == nil {
		return 1
	}
	return *g.Replicas
}

type job struct {
	kube.Object
	Spec struct {
		Suspend   bool `json:"suspend"`
		RunPolicy struct {
			Suspend bool `json:"suspend"`
		} `json:"runPolicy"`
		Replicas map[string]group `json:"pytorchReplicaSpecs"`
		Ray      struct {
			Head    group   `json:"headGroupSpec"`
			Workers []group `json:"workerGroupSpecs"`
		} `json:"rayClusterSpec"`
	} `json:"spec"`
	Status struct {
		Conditions []kube.Condition `json:"conditions"`
		JobStatus  string           `json:"jobStatus"`
	} `json:"status"`
}

// groups are the pods that a job wants, by the middle of their name.
func (j *job) groups() map[string]group {
	out := map[string]group{}
	for name, g := range j.Spec.Replicas {
		out[strings.ToLower(name)] = g
	}
	if j.Spec.Ray.Head.Template != nil {
		out["head"] = j.Spec.Ray.Head
	}
	for _, g := range j.Spec.Ray.Workers {
		out[g.Name] = g
	}
	return out
}

// reconcile makes the pods of a job what its spec says.
func reconcile(ctx context.Context, c *kube.Client, k kind, j *job) error {
	if kube.FindCondition(j.Status.Conditions, "Succeeded") != nil || kube.FindCondition(j.Status.Conditions, "Failed") != nil || j.Status.JobStatus != "" || j.Metadata.DeletionTimestamp != nil {
		return nil
	}
	ns := j.Metadata.Namespace
	pods, _, err := kube.ListAll[kube.Pod](ctx, c, kube.PodsPath(ns), kube.Selector{Labels: "operator-job=" + j.Metadata.UID})
	if err != nil {
		return err
	}
	has := map[string]kube.Pod{}
	for _, p := range pods {
		has[p.Metadata.Name] = p
	}
	done, failed := 0, ""
	want := map[string]group{}
	for middle, g := range j.groups() {
		for i := range g.pods() {
			want[fmt.Sprintf("%s-%s-%d", j.Metadata.Name, middle, i)] = g
		}
	}
	if j.Spec.Suspend || j.Spec.RunPolicy.Suspend {
		clear(want)
	}
	for name, p := range has {
		switch _, wanted := want[name]; {
		case p.Metadata.DeletionTimestamp != nil:
		case !wanted:
			if err := c.Delete(ctx, kube.PodPath(ns, name), kube.DeleteOptions{}); err != nil && !kube.IsNotFound(err) {
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
			if err := create(ctx, c, k, j, name, g); err != nil {
				return err
			}
		}
	}
	switch {
	case failed != "":
		return end(ctx, c, k, j, "Failed", "pod "+failed+" has failed")
	case len(want) > 0 && done == len(want):
		return end(ctx, c, k, j, "Succeeded", "")
	}
	return nil
}

// create makes one pod.
func create(ctx context.Context, c *kube.Client, k kind, j *job, name string, g group) error {
	if k.kind == "RayJob" {
		if err := c.Patch(ctx, path(k, j)+"/status", map[string]any{"status": map[string]any{"rayClusterName": j.Metadata.Name}}, nil); err != nil {
			return err
		}
	}
	return c.Create(ctx, kube.PodsPath(j.Metadata.Namespace), map[string]any{"apiVersion": "v1", "kind": "Pod", "spec": j.ranked(name, g),
		"metadata": map[string]any{"name": name, "labels": map[string]any{"operator-job": j.Metadata.UID, "ray.io/cluster": j.Metadata.Name},
			"ownerReferences": []any{map[string]any{"apiVersion": k.group, "kind": k.kind, "name": j.Metadata.Name, "uid": j.Metadata.UID}}}}, nil, false)
}

// ranked is the pod spec of a template with what the training operator, and a
// trainer on Ray, tell a pod of its place. Pods are processes of one machine.
func (j *job) ranked(name string, g group) any {
	spec, _ := g.Template["spec"].(map[string]any)
	i, _ := strconv.Atoi(name[strings.LastIndex(name, "-")+1:])
	world := 0
	for middle, g := range j.groups() {
		if middle != "head" {
			world += g.pods()
		}
		if middle == "master" && !strings.Contains(name, "-master-") {
			i += g.pods()
		}
	}
	spec = maps.Clone(spec)
	var containers []any
	for _, c := range spec["containers"].([]any) {
		c := maps.Clone(c.(map[string]any))
		env, _ := c["env"].([]any)
		for k, v := range map[string]any{"RANK": i, "WORLD_SIZE": world, "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": 10_000 + crc32.ChecksumIEEE([]byte(j.Metadata.UID))%20_000} {
			env = append(env, map[string]any{"name": k, "value": fmt.Sprint(v)})
		}
		c["env"] = env
		containers = append(containers, c)
	}
	spec["containers"] = containers
	return spec
}

// end writes down that a job has ended.
func end(ctx context.Context, c *kube.Client, k kind, j *job, how, why string) error {
	status := map[string]any{"conditions": []any{map[string]any{"type": how, "status": "True", "message": why, "reason": how}}}
	if k.kind == "RayJob" {
		status = map[string]any{"jobStatus": strings.ToUpper(how)}
	}
	return c.Patch(ctx, path(k, j)+"/status", map[string]any{"status": status}, nil)
}

func path(k kind, j *job) string {
	return "/apis/" + k.group + "/namespaces/" + j.Metadata.Namespace + "/" + k.resource + "/" + j.Metadata.Name
}
