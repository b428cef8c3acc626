package launch

import (
	"bytes"
	"cmp"
	"crypto/rand"
	_ "embed"
	"fmt"
	"maps"
	"net"
	"slices"
	"strconv"
	"strings"
	"text/template"

	"knee/data"
	"knee/internal/manifest"
)

// Labels of the objects of a trial.
const (
	labelRun  = "knee/run"  // name of the main object, on all objects of one attempt
	labelRole = "knee/role" // worker or ps, on pods

	// Index of a pod, set by the job controller.
	indexAnnotation = "batch.kubernetes.io/job-completion-index"
)

// Ports differ for pods that use the network of their node and so share its address.
const (
	kubeMasterPort = 29500
	kubePSPort     = 29501
)

type tree = map[string]any

type kubeObjects struct {
	service tree // gives pods their DNS names; nil for a single pod
	main    tree
	servers []tree // pods of parameter servers
}

// newName returns a name with a random end, which separates studies of one job. It is short,
// for pod indices: host names have at most 63 characters.
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

type shape struct {
	Pods    int  // of workers
	gpus    int  // of each
	perNode bool // a pod holds all workers of a node
}

// shapeOf returns the shape, or an infeasible [*Failure] if pods cannot have it.
func (k *Kubernetes) shapeOf(c data.Config) (shape, error) {
	refuse := func(format string, args ...any) (shape, error) {
		return shape{}, &Failure{Status: data.Infeasible, Detail: fmt.Sprintf(format, args...)}
	}
	if k.Spec.Per == data.PerNode {
		if c.Workers != c.NodeCount()*c.WidestNode() {
			return refuse("%d workers on %d nodes are unevenly placed, but the pods of a job are all alike", c.Workers, c.NodeCount())
		}
		return shape{Pods: c.NodeCount(), gpus: c.WidestNode(), perNode: true}, nil
	}
	known := len(c.Placement) > 0 || c.Nodes > 0
	if n := c.NodeCount(); known && n != 1 && n != c.Workers {
		return refuse("%d workers on %d nodes: pods of one worker can be placed all together or all apart only; use per: node", c.Workers, n)
	}
	return shape{Pods: c.Workers, gpus: 1}, nil
}

// manifests builds the objects of a trial, for nodes with one of the GPU label's values.
func (k *Kubernetes) manifests(name string, t Trial, values []string) (o kubeObjects, err error) {
	s, err := k.shapeOf(t.Config)
	if err != nil {
		return o, err
	}
	workers := k.workers(name, t, s)
	if len(values) == 1 {
		workers.NodeSelector[k.Spec.GPULabel] = values[0]
	} else {
		workers.NodeTypes = values
	}
	if o.main, err = workers.manifest("job"); err != nil {
		return o, err
	}
	if s.Pods+t.Config.PS > 1 {
		if o.service, err = workers.manifest("service"); err != nil {
			return o, err
		}
	}
	for j := range t.Config.PS {
		pod, err := k.server(name, t, s, j).manifest("server")
		if err != nil {
			return o, err
		}
		o.servers = append(o.servers, pod)
	}
	return o, nil
}

//go:embed kubernetes.yaml.tmpl
var kubeText string

var kubeTemplate = template.Must(template.New("").Funcs(template.FuncMap{"quote": manifest.Quote, "given": manifest.Given,
	"literal":         func(s string) string { return strings.ReplaceAll(s, "$", "$$") }, // the kubelet expands $(NAME), and reads $$ as $
	"indexAnnotation": func() string { return indexAnnotation }, "masterPort": func() int { return kubeMasterPort }}).Parse(kubeText))

// kubeObject is an object of a trial, as kubernetes.yaml.tmpl writes it, and its pods.
type kubeObject struct {
	Spec   data.KubernetesSpec
	Trial  Trial
	Shape  shape
	Name   string
	Run    string // the main object
	Labels tree

	Role                           string   // worker or ps
	Affinity                       string   // to the workers' pods; empty for none
	NodeTypes                      []string // values of the GPU label, of which a node has to have one; empty for any
	Env                            map[string]string
	Index                          []string // variables with the index of a pod in the job
	NodeSelector, Requests, Limits tree
	gpus                           bool
}

func (k *Kubernetes) object(name, run string, t Trial, s shape) kubeObject {
	c, env, labels := t.Config, sharedEnv(t), treeOf(k.Spec.Labels)
	maps.Copy(labels, tree{"app.kubernetes.io/managed-by": "knee", labelRun: run, "knee/study": slug(c.Job, 63),
		"knee/trial": strconv.Itoa(t.ID), "knee/attempt": strconv.Itoa(t.Attempt)})
	hosts := make([]string, c.PS)
	for j := range hosts {
		hosts[j] = net.JoinHostPort(fmt.Sprintf("%s-ps%d.%s", run, j, run), strconv.Itoa(kubePSPort+j))
	}
	env["KNEE_PS_HOSTS"] = strings.Join(hosts, ",")
	env["MASTER_ADDR"], env["MASTER_PORT"] = run+"-0."+run, strconv.Itoa(kubeMasterPort)
	if c.PS == 0 && c.Workers == 1 {
		env["MASTER_ADDR"] = loopback // a single pod has no service
	}
	env["WORLD_SIZE"], env["LOCAL_RANK"], env["LOCAL_WORLD_SIZE"] = strconv.Itoa(c.Workers+c.PS), "0", "1"
	return kubeObject{Spec: k.Spec, Trial: t, Shape: s, Name: name, Run: run, Labels: labels, Env: env,
		NodeSelector: treeOf(k.Spec.NodeSelector), Requests: treeOf(k.Spec.Requests), Limits: treeOf(k.Spec.Limits)}
}

// workers is the main object. A pod reads its index from its annotation.
func (k *Kubernetes) workers(name string, t Trial, s shape) kubeObject {
	o := k.object(name, name, t, s)
	o.Role, o.Env["KNEE_ROLE"] = "worker", "worker"
	if gpu := k.Spec.GPUResource; gpu != "" && !cpuOnly(t.Config.GPUType) {
		o.Requests[gpu], o.Limits[gpu], o.gpus = s.gpus, s.gpus, true
	}
	if s.Pods > 1 && (len(t.Config.Placement) > 0 || t.Config.Nodes > 0) {
		o.Affinity = "podAntiAffinity"
		if !s.perNode && t.Config.NodeCount() == 1 {
			o.Affinity = "podAffinity"
		}
	}
	if !s.perNode {
		o.Index = []string{"RANK"}
		return o
	}
	// torchrun counts its processes itself.
	maps.DeleteFunc(o.Env, func(name, _ string) bool { return strings.HasSuffix(name, "WORLD_SIZE") || name == "LOCAL_RANK" })
	o.Index = []string{"NODE_RANK", "PET_NODE_RANK"}
	if s.Pods == 1 {
		o.Env["MASTER_ADDR"] = loopback
	}
	maps.Copy(o.Env, map[string]string{"PET_NNODES": strconv.Itoa(s.Pods), "PET_NPROC_PER_NODE": strconv.Itoa(s.gpus),
		"PET_MASTER_ADDR": o.Env["MASTER_ADDR"], "PET_MASTER_PORT": o.Env["MASTER_PORT"]})
	return o
}

func (k *Kubernetes) server(name string, t Trial, s shape, j int) kubeObject {
	o := k.object(fmt.Sprintf("%s-ps%d", name, j), name, t, s)
	o.Role, o.Labels[labelRole] = "ps", "ps"
	maps.Copy(o.Env, rankEnv("ps", t.Config.Workers+j, j))
	o.Env["LOCAL_RANK"] = "0"
	return o
}

// manifest is an object of the template, with the user's pod template merged in.
func (o kubeObject) manifest(kind string) (tree, error) {
	maps.Copy(o.Env, o.Trial.Env)
	o.Index = slices.DeleteFunc(o.Index, func(name string) bool { _, given := o.Trial.Env[name]; return given })
	var text bytes.Buffer
	if err := kubeTemplate.ExecuteTemplate(&text, kind, o); err != nil {
		return nil, err
	}
	documents, err := manifest.Read(text.Bytes(), o.Spec.Template, o.defaults())
	if err != nil {
		return nil, fmt.Errorf("launcher.kubernetes.template: %w", err)
	}
	out := tree{}
	return out, documents[0].Decode(&out)
}

// PodLabels are those of the workers' pods.
func (o kubeObject) PodLabels() tree {
	labels := maps.Clone(o.Labels)
	labels[labelRole] = o.Role
	return labels
}

// Deadline is in seconds.
func (o kubeObject) Deadline() int64 { return int64(o.Spec.Deadline.Seconds()) }

const (
	// graceSeconds is how long a pod may take to terminate: a trial has nothing to save.
	graceSeconds = 5
	// lostAfterSeconds bounds waiting for a dead node, with GPUs idle; usual are five minutes.
	lostAfterSeconds = 30
)

// defaults are what a pod has unless the user's template says otherwise.
func (o kubeObject) defaults() tree {
	var tolerations []any
	for _, key := range []string{"node.kubernetes.io/not-ready", "node.kubernetes.io/unreachable"} {
		tolerations = append(tolerations, tree{"key": key, "operator": "Exists", "effect": "NoExecute", "tolerationSeconds": lostAfterSeconds})
	}
	if o.gpus {
		tolerations = append(tolerations, tree{"key": o.Spec.GPUResource, "operator": "Exists", "effect": "NoSchedule"})
	}
	return tree{"spec": tree{"terminationGracePeriodSeconds": graceSeconds, "tolerations": tolerations, "containers": []any{tree{"name": "trial"}}}}
}

func cpuOnly(gpuType string) bool { return gpuType == "" || gpuType == "cpu" }

func treeOf(m map[string]string) tree {
	out := tree{}
	for k, v := range m {
		out[k] = v
	}
	return out
}
