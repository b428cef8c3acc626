package launch

import (
	"cmp"
	"crypto/rand"
	"encoding/json"
	"fmt"
	"maps"
	"net"
	"slices"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"knee/data"
)

// Labels of the objects of a trial.
const (
	labelRun     = "knee/run"     // name of the main object, on all objects of one attempt
	labelStudy   = "knee/study"   // the job that is trained
	labelTrial   = "knee/trial"   // number of the trial
	labelAttempt = "knee/attempt" // 1 for the first try
	labelRole    = "knee/role"    // worker or ps, on pods

	labelManagedBy = "app.kubernetes.io/managed-by"
	// Index of a pod, set by the job controller.
	indexAnnotation = "batch.kubernetes.io/job-completion-index"

	hostnameLabel = "kubernetes.io/hostname"
)

// Ports of rank 0 and of the parameter servers. They differ for pods that use
// the network of their node and so share its address.
const (
	kubeMasterPort = 29500
	kubePSPort     = 29501
)

type kubeObjects struct {
	service tree // gives pods their DNS names; nil for a single pod
	main    tree
	servers []tree // pods of parameter servers
}

// newName returns a unique name for an attempt of a trial. The random end
// separates studies of one job in one namespace. The length leaves room for pod
// indices: host names have at most 63 characters.
func (k *Kubernetes) newName(t Trial) string {
	return fmt.Sprintf("knee-%s-t%d-%d-%s", slug(t.Config.Job, 28), t.ID, t.Attempt, strings.ToLower(rand.Text()[:6]))
}

// slug turns text into at most n characters a-z, 0-9 and "-" for names.
func slug(s string, n int) string {
	var b strings.Builder
	for _, r := range strings.ToLower(s) {
		switch {
		case r >= 'a' && r <= 'z' || r >= '0' && r <= '9':
			b.WriteRune(r)
		case b.Len() > 0 && !strings.HasSuffix(b.String(), "-"):
			b.WriteByte('-')
		}
		if b.Len() >= n {
			break
		}
	}
	return cmp.Or(strings.Trim(b.String(), "-"), "job")
}

// shape is the division of workers into pods.
type shape struct {
	pods    int  // of workers
	gpus    int  // of each
	perNode bool // a pod holds all workers of a node

	values []string // of the GPU label, one of which a node must have; nil for any node
}

// shapeOf returns the shape, or an infeasible [*Failure] if pods cannot have it.
func (k *Kubernetes) shapeOf(c data.Config) (shape, error) {
	refuse := func(format string, args ...any) (shape, error) {
		return shape{}, &Failure{Status: data.Infeasible, Exit: -1, Detail: fmt.Sprintf(format, args...)}
	}
	if k.Spec.Per == data.PerNode {
		if c.Workers != c.NodeCount()*c.WidestNode() {
			return refuse("%d workers on %d nodes are unevenly placed, but the pods of a job are all alike", c.Workers, c.NodeCount())
		}
		return shape{pods: c.NodeCount(), gpus: c.WidestNode(), perNode: true}, nil
	}
	known := len(c.Placement) > 0 || c.Nodes > 0
	if n := c.NodeCount(); known && n != 1 && n != c.Workers {
		return refuse("%d workers on %d nodes: pods of one worker can be placed all together or all apart only; use per: node", c.Workers, n)
	}
	return shape{pods: c.Workers, gpus: 1}, nil
}

// manifests builds the objects of a trial. Its workers go to nodes whose GPU
// label has one of the values, or to any if there are none.
func (k *Kubernetes) manifests(name string, t Trial, values []string) (kubeObjects, error) {
	s, err := k.shapeOf(t.Config)
	if err != nil {
		return kubeObjects{}, err
	}
	s.values = values
	var o kubeObjects
	workers, err := k.podTemplate(name, t, s, "worker", s.pods, k.workerEnv(name, t, s))
	if err != nil {
		return o, err
	}
	o.main = k.object("batch/v1", "Job", name, t)
	o.main["spec"] = tree{
		"completionMode": "Indexed", "completions": s.pods, "parallelism": s.pods,
		"backoffLimit":          0, // knee retries itself, with new pods for all workers
		"activeDeadlineSeconds": int64(k.Spec.Deadline.Seconds()), "ttlSecondsAfterFinished": ttlSeconds,
		"template": workers,
		// Training stops without one of its ranks. The rule also records a reason in
		// the job that remains after the pod is deleted.
		"podFailurePolicy": tree{"rules": []any{tree{
			"action": "FailJob", "onPodConditions": []any{tree{"type": string(corev1.DisruptionTarget), "status": "True"}}}}},
	}
	if s.pods+t.Config.PS > 1 {
		o.service = k.service(name, t)
	}
	for j := range t.Config.PS {
		pod, err := k.serverPod(name, t, s, j)
		if err != nil {
			return o, err
		}
		o.servers = append(o.servers, pod)
	}
	return o, nil
}

// ttlSeconds is how long finished objects stay if knee does not remove them:
// knee can be stopped overnight and still read them.
const ttlSeconds = 24 * 60 * 60

func (k *Kubernetes) object(version, kind, name string, t Trial) tree {
	return tree{"apiVersion": version, "kind": kind, "metadata": tree{
		"name": name, "namespace": k.Spec.Namespace, "labels": anyMap(k.labels(name, t)),
		"annotations": tree{"knee/configuration": t.Config.String()},
	}}
}

func (k *Kubernetes) labels(name string, t Trial) map[string]string {
	l := maps.Clone(k.Spec.Labels)
	if l == nil {
		l = map[string]string{}
	}
	maps.Copy(l, map[string]string{labelManagedBy: "knee", labelRun: name, labelStudy: slug(t.Config.Job, 63),
		labelTrial: strconv.Itoa(t.ID), labelAttempt: strconv.Itoa(t.Attempt)})
	return l
}

// service is headless, without load balancing: it gives every pod a DNS name,
// before it is ready, since the pods wait for one another.
func (k *Kubernetes) service(name string, t Trial) tree {
	o := k.object("v1", "Service", name, t)
	o["spec"] = tree{"clusterIP": "None", "publishNotReadyAddresses": true, "selector": tree{labelRun: name},
		"ports": []any{tree{"name": "master", "port": kubeMasterPort}}}
	return o
}

func host(name, service string) string { return name + "." + service }

// serverPod is the pod of parameter server j. It is not part of the Job,
// because it has no GPU and its rank follows those of all workers.
func (k *Kubernetes) serverPod(name string, t Trial, s shape, j int) (tree, error) {
	env := k.jobEnv(name, t)
	maps.Copy(env, anyMap(rankEnv("ps", t.Config.Workers+j, j)))
	env["LOCAL_RANK"], env["LOCAL_WORLD_SIZE"] = "0", "1"
	template, err := k.podTemplate(name, t, s, "ps", 0, env)
	if err != nil {
		return nil, err
	}
	pod := k.object("v1", "Pod", fmt.Sprintf("%s-ps%d", name, j), t)
	inner := template["metadata"].(tree)
	pod["metadata"].(tree)["labels"] = inner["labels"]
	if a, ok := inner["annotations"]; ok {
		pod["metadata"].(tree)["annotations"] = a
	}
	spec := template["spec"].(tree)
	spec["hostname"] = fmt.Sprintf("%s-ps%d", name, j)
	spec["activeDeadlineSeconds"] = int64(k.Spec.Deadline.Seconds())
	pod["spec"] = spec
	return pod, nil
}

func (k *Kubernetes) jobEnv(name string, t Trial) tree {
	env := anyMap(sharedEnv(t))
	c := t.Config
	env["MASTER_ADDR"] = host(name+"-0", name)
	if c.PS == 0 && c.Workers == 1 {
		env["MASTER_ADDR"] = loopback // a single pod has no service
	}
	env["MASTER_PORT"] = strconv.Itoa(kubeMasterPort)
	env["WORLD_SIZE"] = strconv.Itoa(c.Workers + c.PS)
	hosts := make([]string, c.PS)
	for j := range hosts {
		hosts[j] = net.JoinHostPort(host(fmt.Sprintf("%s-ps%d", name, j), name), strconv.Itoa(kubePSPort+j))
	}
	env["KNEE_PS_HOSTS"] = strings.Join(hosts, ",")
	return env
}

// workerEnv is the environment of the workers' pods. They share one template,
// so the index is read from the pod's annotation.
func (k *Kubernetes) workerEnv(name string, t Trial, s shape) tree {
	env := k.jobEnv(name, t)
	index := tree{"fieldRef": tree{"fieldPath": "metadata.annotations['" + indexAnnotation + "']"}}
	env["KNEE_ROLE"] = "worker"
	if !s.perNode {
		env["RANK"] = index
		env["LOCAL_RANK"], env["LOCAL_WORLD_SIZE"] = "0", "1"
		return env
	}
	delete(env, "WORLD_SIZE") // torchrun counts its processes itself
	env["NODE_RANK"], env["PET_NODE_RANK"] = index, index
	env["PET_NNODES"], env["PET_NPROC_PER_NODE"] = strconv.Itoa(s.pods), strconv.Itoa(s.gpus)
	if s.pods == 1 {
		env["MASTER_ADDR"] = loopback
	}
	env["PET_MASTER_ADDR"], env["PET_MASTER_PORT"] = env["MASTER_ADDR"], env["MASTER_PORT"]
	return env
}

func anyMap(m map[string]string) tree {
	out := make(tree, len(m))
	for k, v := range m {
		out[k] = v
	}
	return out
}

// envList returns a container's env list sorted by name. Values are text or a
// valueFrom object. Kubernetes expands $(NAME) in text, and reads $$ as $.
func envList(all tree) []any {
	var out []any
	for _, name := range slices.Sorted(maps.Keys(all)) {
		v := tree{"name": name}
		if text, ok := all[name].(string); ok {
			v["value"] = literal(text)
		} else {
			v["valueFrom"] = all[name]
		}
		out = append(out, v)
	}
	return out
}

func literal(s string) string { return strings.ReplaceAll(s, "$", "$$") }

// clone copies a tree of JSON values, so that the study's is not changed.
func clone(v tree) (tree, error) {
	out := tree{}
	b, err := json.Marshal(v)
	if err != nil || v == nil {
		return out, err
	}
	return out, json.Unmarshal(b, &out)
}
