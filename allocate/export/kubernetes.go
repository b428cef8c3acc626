package export

import (
	"bytes"
	"fmt"
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
	Name        string            `yaml:"name"`
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
	Spec podSpec `yaml:"spec"`
}

type podSpec struct {
	Affinity   affinity    `yaml:"affinity"`
	Containers []container `yaml:"containers"`
}

type affinity struct {
	NodeAffinity struct {
		Required struct {
			Terms []selectorTerm `yaml:"nodeSelectorTerms"`
		} `yaml:"requiredDuringSchedulingIgnoredDuringExecution"`
	} `yaml:"nodeAffinity"`
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

// podsOf is a replica group of one process per pod, kept to the given nodes.
// A worker's pod has one GPU.
func podsOf(t task, name string, count int, nodes []string, server bool) replica {
	c := container{Name: name, Image: t.Template.Image, Command: t.literalCommand()}
	for _, kv := range t.environment() {
		// A dollar sign followed by a parenthesis would be expanded by the
		// kubelet; doubling it keeps the text.
		c.Env = append(c.Env, variable{kv[0], literal(kv[1])})
	}
	cpus, memory := t.Needs.WorkerCPUs, t.Needs.WorkerMemory
	if server {
		cpus, memory = t.Needs.PSCPUs, t.Needs.PSMemory
	}
	request := map[string]string{}
	if cpus > 0 {
		request["cpu"] = strconv.FormatInt(int64(cpus*1000+0.999), 10) + "m"
	}
	if memory > 0 {
		request["memory"] = strconv.FormatInt(memory, 10)
	}
	if len(request) > 0 {
		c.Resources.Requests = request
	}
	if !server && t.gpu() {
		c.Resources.Limits = map[string]string{"nvidia.com/gpu": "1"}
	}
	r := replica{Replicas: count, RestartPolicy: "OnFailure"}
	r.Template.Spec.Containers = []container{c}
	r.Template.Spec.Affinity.NodeAffinity.Required.Terms = []selectorTerm{{
		MatchExpressions: []expression{{Key: "kubernetes.io/hostname", Operator: "In", Values: nodes}},
	}}
	return r
}

// literalCommand is the command with the kubelet's $(NAME) expansion off.
func (t task) literalCommand() []string {
	var out []string
	for _, a := range t.Template.Command {
		out = append(out, literal(a))
	}
	return out
}

func literal(s string) string { return strings.ReplaceAll(s, "$(", "$$(") }

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

// manifestOf wraps a spec. The plan's own words go into annotations.
func manifestOf(t task, kind string, spec any) manifest {
	return manifest{
		APIVersion: "kubeflow.org/v1", Kind: kind, Spec: spec,
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
func kubernetes(target, kind string, p data.Plan, spec func(task) (any, string)) ([]File, error) {
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
		if t.Template.Image == "" {
			return nil, &Refusal{target, t.Name, "template.image is empty, and a pod needs an image"}
		}
		s, reason := spec(t)
		if reason != "" {
			return nil, &Refusal{target, t.Name, reason}
		}
		var b bytes.Buffer
		e := yaml.NewEncoder(&b)
		e.SetIndent(2)
		if err := e.Encode(manifestOf(t, kind, s)); err != nil {
			return nil, fmt.Errorf("export to %s: job %q: %w", target, t.Name, err)
		}
		files = append(files, File{Name: t.ID + ".yaml", Mode: 0o644, Data: b.Bytes()})
	}
	return append(files, File{Name: "apply.sh", Mode: 0o755, Data: []byte(applyScript(kind, ts))}), nil
}

// applyScript deletes what the plan pauses or changes, and applies the rest:
// replicas of a running job cannot be resized in place without elasticity.
func applyScript(kind string, ts []task) string {
	var b strings.Builder
	b.WriteString("#!/bin/sh\n# knee: carries out the plan.\nset -eu\ncd \"$(dirname \"$0\")\"\n\n")
	resource := strings.ToLower(kind) + "s.kubeflow.org"
	for _, t := range ts {
		ns := ""
		if t.Template.Namespace != "" {
			ns = " --namespace=" + t.Template.Namespace
		}
		remove := fmt.Sprintf("kubectl delete %s %s%s --ignore-not-found --wait", resource, t.ID, ns)
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
