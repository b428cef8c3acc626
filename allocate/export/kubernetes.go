package export

import (
	"bytes"
	"fmt"
	"math"
	"strconv"
	"strings"

	"knee/data"

	"go.yaml.in/yaml/v3"
)

// The few types of Kubernetes that the manifests need. Field names and
// nesting follow the core/v1 and kubeflow.org/v1 APIs.

type manifest struct {
	APIVersion string   `yaml:"apiVersion"`
	Kind       string   `yaml:"kind"`
	Metadata   metadata `yaml:"metadata"`
	Spec       any      `yaml:"spec"`
}

type metadata struct {
	Name        string            `yaml:"name,omitempty"` // of pods: their owner's
	Namespace   string            `yaml:"namespace,omitempty"`
	Labels      map[string]string `yaml:"labels,omitempty"`
	Annotations map[string]string `yaml:"annotations,omitempty"`
}

type replica struct {
	Replicas      int         `yaml:"replicas"`
	RestartPolicy string      `yaml:"restartPolicy"`
	Template      podTemplate `yaml:"template"`
}

type podTemplate struct {
	Metadata *metadata `yaml:"metadata,omitempty"`
	Spec     podSpec   `yaml:"spec"`
}

type podSpec struct {
	RestartPolicy string            `yaml:"restartPolicy,omitempty"`
	NodeSelector  map[string]string `yaml:"nodeSelector,omitempty"`
	Affinity      *affinity         `yaml:"affinity,omitempty"`
	Containers    []container       `yaml:"containers"`
}

type affinity struct {
	NodeAffinity struct {
		Required struct {
			Terms []selectorTerm `yaml:"nodeSelectorTerms"`
		} `yaml:"requiredDuringSchedulingIgnoredDuringExecution"`
	} `yaml:"nodeAffinity"`
	Apart *antiAffinity `yaml:"podAntiAffinity,omitempty"`
}

// antiAffinity keeps the pods with a label on different nodes.
type antiAffinity struct {
	Required []struct {
		LabelSelector struct {
			MatchLabels map[string]string `yaml:"matchLabels"`
		} `yaml:"labelSelector"`
		TopologyKey string `yaml:"topologyKey"`
	} `yaml:"requiredDuringSchedulingIgnoredDuringExecution"`
}

type selectorTerm struct {
	MatchExpressions []expression `yaml:"matchExpressions"`
}

type expression struct {
	Key      string   `yaml:"key"`
	Operator string   `yaml:"operator"`
	Values   []string `yaml:"values"`
}

type container struct {
	Name      string     `yaml:"name"`
	Image     string     `yaml:"image"`
	Command   []string   `yaml:"command,omitempty"`
	Env       []variable `yaml:"env,omitempty"`
	Resources resources  `yaml:"resources,omitempty"`
}

type variable struct {
	Name  string `yaml:"name"`
	Value string `yaml:"value"`
}

type resources struct {
	Requests map[string]string `yaml:"requests,omitempty"`
	Limits   map[string]string `yaml:"limits,omitempty"`
}

const hostname = "kubernetes.io/hostname"

// podsOf is a replica group of one process per pod, kept to the given nodes.
// A worker's pod has one GPU.
func podsOf(t task, name string, count int, nodes []string, server bool) replica {
	r := replica{Replicas: count, RestartPolicy: "OnFailure"}
	r.Template.Spec.Containers = []container{containerOf(t, name, 1, server)}
	r.Template.Spec.Affinity = onNodes(nodes)
	return r
}

// containerOf is a container for processes of a job, workers or parameter
// servers: what each needs times their number, a GPU for each worker.
func containerOf(t task, name string, processes int, server bool) container {
	c := container{Name: name, Image: t.Template.Image, Command: literals(t.Template.Command)}
	for _, kv := range t.environment() {
		c.Env = append(c.Env, variable{kv[0], literal(kv[1])})
	}
	c.Resources = t.resources(processes, server)
	return c
}

// resources is what processes of a job need together.
func (t task) resources(processes int, server bool) resources {
	cpus, memory := t.Needs.WorkerCPUs, t.Needs.WorkerMemory
	if server {
		cpus, memory = t.Needs.PSCPUs, t.Needs.PSMemory
	}
	var r resources
	request := map[string]string{}
	if cpus > 0 {
		request["cpu"] = strconv.FormatInt(int64(math.Ceil(cpus*1000*float64(processes)-1e-6)), 10) + "m"
	}
	if memory > 0 {
		request["memory"] = strconv.FormatInt(memory*int64(processes), 10)
	}
	if len(request) > 0 {
		r.Requests = request
	}
	if !server && t.gpu() {
		r.Limits = map[string]string{"nvidia.com/gpu": strconv.Itoa(processes)}
	}
	return r
}

// onNodes keeps pods to nodes.
func onNodes(nodes []string) *affinity {
	a := &affinity{}
	a.NodeAffinity.Required.Terms = []selectorTerm{{
		MatchExpressions: []expression{{Key: hostname, Operator: "In", Values: nodes}},
	}}
	return a
}

// jobLabel marks the pods of a job.
const jobLabel = "knee/job"

// apart is onNodes with no two pods of the job on one node: one pod stands
// for all processes of its node.
func apart(t task, nodes []string) *affinity {
	a := onNodes(nodes)
	a.Apart = &antiAffinity{}
	a.Apart.Required = append(a.Apart.Required, struct {
		LabelSelector struct {
			MatchLabels map[string]string `yaml:"matchLabels"`
		} `yaml:"labelSelector"`
		TopologyKey string `yaml:"topologyKey"`
	}{TopologyKey: hostname})
	a.Apart.Required[0].LabelSelector.MatchLabels = map[string]string{jobLabel: t.ID}
	return a
}

// perNode is the workers on every node, 0 if nodes differ.
func (t task) perNode() int {
	n := 0
	for _, s := range t.Placement {
		if s.Workers == 0 {
			continue
		}
		if n > 0 && s.Workers != n {
			return 0
		}
		n = s.Workers
	}
	return n
}

// shape is the workers per node, as placements are written.
func (t task) shape() string {
	var p data.Placement
	for _, s := range t.Placement {
		if s.Workers > 0 {
			p = append(p, s.Workers)
		}
	}
	return p.String()
}

// literals is a command with the kubelet's $(NAME) expansion off.
func literals(command []string) []string {
	var out []string
	for _, a := range command {
		out = append(out, literal(a))
	}
	return out
}

// literal keeps text as it is in what the kubelet expands: it reads $(NAME)
// as a variable and $$ as one dollar sign.
func literal(s string) string {
	var b strings.Builder
	for i := range len(s) {
		b.WriteByte(s[i])
		if s[i] == '$' && i+1 < len(s) && (s[i+1] == '$' || s[i+1] == '(') {
			b.WriteByte('$')
		}
	}
	return b.String()
}

// hosts lists the nodes that hold workers, or those that hold servers.
func (t task) hosts(servers bool) []string {
	var out []string
	for _, s := range t.Placement {
		if servers && s.PS > 0 || !servers && s.Workers > 0 {
			out = append(out, s.Node)
		}
	}
	return out
}

// resourceKind is a kind of manifest as the API server knows it.
type resourceKind struct {
	api, kind string
	plural    string // with its group, as kubectl takes it
}

// manifestOf wraps a spec. The plan's own words go into annotations.
func manifestOf(t task, k resourceKind, spec any) manifest {
	return manifest{
		APIVersion: k.api, Kind: k.kind, Spec: spec,
		Metadata: metadata{
			Name: t.ID, Namespace: t.Template.Namespace,
			Labels:      map[string]string{"app.kubernetes.io/managed-by": "knee"},
			Annotations: map[string]string{"knee/job": t.Name, "knee/placement": placementText(t)},
		},
	}
}

func placementText(t task) string {
	var parts []string
	for _, s := range t.Placement {
		parts = append(parts, fmt.Sprintf("%s=%d+%d", s.Node, s.Workers, s.PS))
	}
	return strings.Join(parts, " ")
}

// kubernetes writes the manifests of a kind and apply.sh. spec returns the
// spec of one job, or the reason why there is none.
func kubernetes(target string, k resourceKind, p data.Plan, spec func(task) (any, string)) ([]File, error) {
	return manifests(target, k, p, func(t task) ([]manifest, string) {
		s, reason := spec(t)
		return []manifest{manifestOf(t, k, s)}, reason
	})
}

// manifests is kubernetes for jobs that need several manifests.
func manifests(target string, k resourceKind, p data.Plan, of func(task) ([]manifest, string)) ([]File, error) {
	ts, err := tasks(target, p)
	if err != nil {
		return nil, err
	}
	var files []File
	for _, t := range ts {
		if t.Template.Namespace != "" && t.Template.Namespace != label(t.Template.Namespace) {
			return nil, &Refusal{target, t.Name, fmt.Sprintf("namespace %q is not a DNS-1123 label", t.Template.Namespace)}
		}
		if t.paused() {
			continue
		}
		if t.Template.Image = imageOf(t.Template); t.Template.Image == "" {
			return nil, &Refusal{target, t.Name, "template.image is empty, and a pod needs an image"}
		}
		ms, reason := of(t)
		if reason != "" {
			return nil, &Refusal{target, t.Name, reason}
		}
		f, err := yamlFile(t.ID+".yaml", t.Template.Pod, ms...)
		if err != nil {
			return nil, fmt.Errorf("export to %s: job %q: %w", target, t.Name, err)
		}
		files = append(files, f)
	}
	return append(files, File{Name: "apply.sh", Mode: 0o755, Data: []byte(applyScript(k, ts))}), nil
}

// yamlFile is a file of one or more manifests, a pod template of the user's
// filled into their own.
func yamlFile(name string, pod map[string]any, ms ...manifest) (File, error) {
	var b bytes.Buffer
	e := yaml.NewEncoder(&b)
	e.SetIndent(2)
	for _, m := range ms {
		tree, err := withPod(m, pod)
		if err != nil {
			return File{}, err
		}
		if err := e.Encode(tree); err != nil {
			return File{}, err
		}
	}
	return File{Name: name, Mode: 0o644, Data: b.Bytes()}, e.Close()
}

// applyScript deletes what the plan pauses or changes, and applies the rest:
// replicas of a running job cannot be resized in place without elasticity.
func applyScript(k resourceKind, ts []task) string {
	var b strings.Builder
	b.WriteString("#!/bin/sh\n# knee: carries out the plan.\nset -eu\ncd \"$(dirname \"$0\")\"\n\n")
	for _, t := range ts {
		ns := ""
		if t.Template.Namespace != "" {
			ns = " --namespace=" + t.Template.Namespace
		}
		remove := fmt.Sprintf("kubectl delete %s %s%s --ignore-not-found --wait", k.plural, t.ID, ns)
		switch {
		case t.paused():
			fmt.Fprintf(&b, "%s # paused: %s\n", remove, comment(t.Reason))
		case t.changed():
			fmt.Fprintf(&b, "%s # %s\n", remove, t.Action)
		case t.Action == data.Keep:
			fmt.Fprintf(&b, "# %s is kept as it runs\n", t.ID)
		}
	}
	for _, t := range ts {
		if !t.paused() && t.Action != data.Keep {
			fmt.Fprintf(&b, "kubectl apply -f %s.yaml\n", t.ID)
		}
	}
	return b.String()
}

// firstApply makes apply.sh apply one more file, before all jobs.
func firstApply(script, file string) string {
	head, rest, _ := strings.Cut(script, "\n\n")
	return head + "\n\nkubectl apply -f " + file + "\n" + rest
}
