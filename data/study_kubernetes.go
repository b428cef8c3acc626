package data

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"time"

	"go.yaml.in/yaml/v3"
)

// KubernetesSpec creates a Job, or another object that runs pods, for each
// trial.
type KubernetesSpec struct {
	Kubeconfig string // file; empty for what kubectl would read
	Context    string // of the kubeconfig; empty for its current one
	Namespace  string // empty for the one of the context
	Kind       string // KindJob or KindPyTorchJob
	Per        string // PerWorker or PerNode
	Image      string // of the trial's containers; may be empty if Template names one

	GPUResource string            // extended resource that a GPU is; empty: none is asked for
	GPULabel    string            // node label that tells the GPU type; empty: nodes are not chosen by type
	GPUTypes    map[string]string // value of GPULabel for a gpu_type that GPUTypeOf does not read out of it

	Requests     map[string]string // of a container, such as cpu: "8", memory: 32Gi
	Limits       map[string]string
	NodeSelector map[string]string
	Labels       map[string]string // on all objects, such as kueue.x-k8s.io/queue-name
	Template     map[string]any    // a pod template that the rest is filled into; nil for an empty one

	MaxWait  time.Duration // for all pods of a trial to run
	Deadline time.Duration // after which the cluster itself ends a trial, should knee be gone
}

// Kinds of object a trial can be.
const (
	KindJob        = "job"        // an Indexed Job of batch/v1
	KindPyTorchJob = "pytorchjob" // a PyTorchJob of kubeflow.org/v1
)

// What one pod of a trial holds.
const (
	PerWorker = "worker" // one worker, or one parameter server
	PerNode   = "node"   // all workers of a node, started by the command (torchrun, say)
)

// Defaults of [KubernetesSpec], those of NVIDIA's device plugin and GPU
// feature discovery where they are names.
const (
	DefaultGPUResource = "nvidia.com/gpu"
	DefaultGPULabel    = "nvidia.com/gpu.product"

	defaultMaxWait  = 30 * time.Minute
	defaultDeadline = 6 * time.Hour
)

// noName in a study switches gpu_resource or gpu_label off.
const noName = "none"

// Names as Kubernetes wants them: RFC 1123 labels, label values, and
// qualified names such as nvidia.com/gpu.
var (
	dnsLabel       = regexp.MustCompile(`^[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?$`)
	labelValue     = regexp.MustCompile(`^([A-Za-z0-9]([-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?)?$`)
	qualifiedName  = regexp.MustCompile(`^([a-z0-9]([-a-z0-9.]*[a-z0-9])?/)?[A-Za-z0-9]([-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?$`)
	kubeQuantityRE = regexp.MustCompile(`^[0-9]+(\.[0-9]+)?([eE][0-9]+|m|k|M|G|T|P|Ki|Mi|Gi|Ti|Pi)?$`)
)

// readKubernetes reads the section launcher.kubernetes. A folder to run in
// (dir) is refused, since it would be one of this machine.
func readKubernetes(root, launcher *object, key string) *KubernetesSpec {
	o := launcher.object(key, "kubeconfig", "context", "namespace", "kind", "per", "image", "gpu_resource", "gpu_label", "gpu_types",
		"requests", "limits", "node_selector", "labels", "template", "max_wait", "deadline")
	k := &KubernetesSpec{
		Kubeconfig:  o.text("kubeconfig"),
		Context:     o.text("context"),
		Namespace:   o.matching("namespace", "", dnsLabel, "the name of a namespace, such as team-a"),
		Kind:        o.choice("kind", KindJob, KindJob, KindPyTorchJob),
		Per:         o.choice("per", PerWorker, PerWorker, PerNode),
		Image:       o.text("image"),
		GPUResource: switchable(o, "gpu_resource", DefaultGPUResource),
		GPULabel:    switchable(o, "gpu_label", DefaultGPULabel),
		GPUTypes:    o.kubeMap("gpu_types", nil, labelValue, "a label value: up to 63 letters, digits, '-', '_' and '.'"),
		Requests:    o.kubeMap("requests", qualifiedName, kubeQuantityRE, "a quantity such as 8, 500m or 32Gi"),
		Limits:      o.kubeMap("limits", qualifiedName, kubeQuantityRE, "a quantity such as 8, 500m or 32Gi"),
		NodeSelector: o.kubeMap("node_selector", qualifiedName, labelValue,
			"a label value: up to 63 letters, digits, '-', '_' and '.'"),
		Labels:   o.kubeMap("labels", qualifiedName, labelValue, "a label value: up to 63 letters, digits, '-', '_' and '.'"),
		Template: o.tree("template"),
		MaxWait:  o.duration("max_wait", defaultMaxWait),
		Deadline: o.duration("deadline", defaultDeadline),
	}
	if k.Image == "" && !templateHasImage(k.Template) {
		launcher.fail(key, "no image", "image: the container image of the trials")
	}
	if root.text("dir") != "" {
		root.fail("dir", "a folder of this machine", "no dir: pods run in their image; template.spec.containers[0].workingDir sets the folder there")
	}
	return k
}

// switchable reads a qualified name that "none" switches off.
func switchable(o *object, key, absent string) string {
	s := o.matching(key, absent, qualifiedName, "a name such as "+absent+", or none")
	if s == noName {
		return ""
	}
	return s
}

// matching reads text of a form, absent if there is none.
func (o *object) matching(key, absent string, form *regexp.Regexp, want string) string {
	s := o.text(key)
	if o.get(key) == nil {
		return absent
	}
	if !form.MatchString(s) {
		o.fail(key, quote(s), want)
	}
	return s
}

// kubeMap reads a mapping whose keys and values have a form; names may be
// nil for any.
func (o *object) kubeMap(key string, names, values *regexp.Regexp, want string) map[string]string {
	m := o.textMap(key, "a name")
	for _, k := range slices.Sorted(maps.Keys(m)) {
		if names != nil && !names.MatchString(k) {
			o.fail(key, quote(k), "a name such as cpu or example.com/name")
		}
		if !values.MatchString(m[k]) {
			o.fail(key, quote(m[k])+" for "+k, want)
		}
	}
	return m
}

// tree reads a mapping of any depth as it is, nil if there is none. Scalars
// keep the type that YAML gives them.
func (o *object) tree(key string) map[string]any {
	n := o.get(key)
	if n == nil {
		return nil
	}
	if n.Kind != yaml.MappingNode {
		o.fail(key, describe(n), "a pod template: a mapping with the keys metadata and spec")
		return nil
	}
	v, _ := treeValue(o.y, n, o.sub(key)).(map[string]any)
	for _, k := range slices.Sorted(maps.Keys(v)) {
		if hint, ok := oneOf(k, []string{"metadata", "spec"}); !ok {
			o.y.fail(n.Line, o.sub(key)+"."+k, "an unknown key"+hint, "metadata or spec")
		}
	}
	return v
}

// treeValue turns a node into the values that encoding/json writes.
func treeValue(y *yamlReader, n *yaml.Node, path string) any {
	switch n.Kind {
	case yaml.MappingNode:
		out := map[string]any{}
		o := y.object(n, path)
		for i := 0; o != nil && i+1 < len(n.Content); i += 2 {
			k := n.Content[i].Value
			out[k] = treeValue(y, n.Content[i+1], path+"."+k)
		}
		return out
	case yaml.SequenceNode:
		out := []any{}
		for i, c := range n.Content {
			out = append(out, treeValue(y, c, fmt.Sprintf("%s[%d]", path, i)))
		}
		return out
	}
	switch n.ShortTag() {
	case "!!null":
		return nil
	case "!!bool", "!!int", "!!float":
		var v any
		if err := n.Decode(&v); err != nil {
			y.fail(n.Line, path, quote(n.Value), "a value that JSON can hold")
		}
		if f, ok := v.(float64); ok && !finite(f) {
			y.fail(n.Line, path, quote(n.Value), "a finite number")
		}
		return v
	}
	return n.Value
}

// templateHasImage reports whether the first container of a pod template
// names an image.
func templateHasImage(t map[string]any) bool {
	spec, _ := t["spec"].(map[string]any)
	list, _ := spec["containers"].([]any)
	if len(list) == 0 {
		return false
	}
	c, _ := list[0].(map[string]any)
	image, _ := c["image"].(string)
	return strings.TrimSpace(image) != ""
}

// kubernetesMap writes the section that [readKubernetes] reads.
func kubernetesMap(k *KubernetesSpec) *yaml.Node {
	m := newYAMLMap()
	m.text("kubeconfig", k.Kubeconfig)
	m.text("context", k.Context)
	m.text("namespace", k.Namespace)
	m.text("kind", k.Kind)
	m.text("per", k.Per)
	m.text("image", k.Image)
	m.text("gpu_resource", orNone(k.GPUResource))
	m.text("gpu_label", orNone(k.GPULabel))
	m.textMap("gpu_types", k.GPUTypes)
	m.textMap("requests", k.Requests)
	m.textMap("limits", k.Limits)
	m.textMap("node_selector", k.NodeSelector)
	m.textMap("labels", k.Labels)
	m.put("template", treeNode(k.Template))
	m.duration("max_wait", k.MaxWait)
	m.duration("deadline", k.Deadline)
	return m.node
}

// treeNode writes a tree of JSON values, nil if there is none.
func treeNode(tree map[string]any) *yaml.Node {
	var n yaml.Node
	if tree == nil || n.Encode(tree) != nil { // what was read from YAML is encoded without fail
		return nil
	}
	return &n
}

func orNone(s string) string {
	if s == "" {
		return noName
	}
	return s
}
