package data

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"time"

	"go.yaml.in/yaml/v4"
)

// SlurmSpec submits each trial as a batch job. The zero value requests the GPUs of the
// configuration and runs the command once, on the first node.
type SlurmSpec struct {
	Partition string        `yaml:"partition" is:"slurm"` // empty for the cluster's default
	Account   string        `yaml:"account" is:"slurm"`   // empty for the user's default
	Time      time.Duration `yaml:"time"`                 // limit of one trial; 0 for the partition's

	// GRES is the generic resource of workers: "gpu" if empty, "none" to request none. Four
	// workers of type a100 on a node request gpu:a100:4; cpu requests none.
	GRES string `yaml:"gres" is:"slurm"`
	// GPUTypes maps a gpu_type to the cluster's name, if different; empty: any type.
	GPUTypes map[string]string `yaml:"gpu_types" want:"a gpu_type of the study"`

	// Srun starts the command once per worker and server through srun, each with its rank in
	// the environment; otherwise the batch script runs it once.
	Srun bool `yaml:"srun"`
	// PerNode makes srun start it once per node, as torchrun needs.
	PerNode bool `yaml:"per_node"`

	Directives []string      `yaml:"directives" want:"a list of options of sbatch such as [--constraint=ib]"` // further ones
	Waiting    int           `yaml:"waiting" min:"1"`                                                         // jobs of the study that may wait in the queue at once; 0 means 1
	Poll       time.Duration `yaml:"poll"`                                                                    // between queries of the queue; 0 means 5 s
	MaxWait    time.Duration `yaml:"max_wait"`                                                                // longest wait of a job in the queue; 0 for no limit
}

// slurmWord matches names allowed in an #SBATCH line.
var slurmWord = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9_.,:+@/=-]*$`)

func (s *SlurmSpec) validate(o *object) {
	if strings.Contains(s.GRES, ":") {
		o.fail("gres", quote(s.GRES), "the name of a resource such as gpu, or none; type and count come from the configuration")
	}
	if s.PerNode && !s.Srun {
		o.fail("per_node", "it without srun", "srun: true too, which starts the tasks")
	}
	if o.get("time") != nil && s.Time < time.Minute {
		o.fail("time", FormatDuration(s.Time), "at least 1m, Slurm's unit of limits")
	}
	for gpu, name := range s.GPUTypes {
		if name != "" && !slurmWord.MatchString(name) {
			o.fail("gpu_types", quote(gpu+": "+name), wantSlurmWord)
		}
	}
	for _, d := range s.Directives {
		if want := directiveProblem(d); want != "" {
			o.fail("directives", quote(d), want)
		}
	}
}

const wantSlurmWord = "a name of letters, digits and _ . , : + @ / = -"

// directiveProblem is what is wanted instead of a directive; empty if it is allowed.
func directiveProblem(d string) string {
	if !strings.HasPrefix(d, "-") || !singleLine(d) {
		return "an option such as --constraint=ib"
	}
	name, _, _ := strings.Cut(strings.FieldsFunc(d, func(r rune) bool { return r == '=' || r == ' ' })[0], "=")
	set := map[string]string{
		"--job-name": "", "-J": "", "--output": "", "-o": "", "--error": "", "-e": "", "--open-mode": "", "--requeue": "", "--no-requeue": "",
		"--nodes": "the study's placement or nodes", "-N": "the study's placement or nodes",
		"--ntasks": "the study's workers", "-n": "the study's workers", "--ntasks-per-node": "the study's placement",
		"--gres": "gres and gpu_types", "--partition": "partition", "-p": "partition", "--account": "account", "-A": "account",
		"--time": "time", "-t": "time", "--array": "", "-a": "", "--wrap": "", "--parsable": "", "--wait": "", "-W": "",
	}
	instead, taken := set[name]
	switch {
	case !taken:
		return ""
	case instead == "":
		return "an option other than " + name + ", which the launcher itself decides"
	}
	return instead + " in its place"
}

// KubernetesSpec creates a Job for each trial.
type KubernetesSpec struct {
	Kubeconfig string `yaml:"kubeconfig"`               // file; empty for kubectl's default
	Context    string `yaml:"context"`                  // of the kubeconfig; empty for its current one
	Namespace  string `yaml:"namespace" is:"namespace"` // empty for the one of the context
	Per        string `yaml:"per" of:"worker,node"`     // PerWorker or PerNode
	Image      string `yaml:"image"`                    // of the trial's containers; may be empty if Template names one

	GPUResource string            `yaml:"gpu_resource,keep" is:"gpu resource"` // extended resource of a GPU; empty: none is requested
	GPULabel    string            `yaml:"gpu_label,keep" is:"gpu label"`       // node label with the GPU type; empty: nodes are not chosen by type
	GPUTypes    map[string]string `yaml:"gpu_types"`                           // value of GPULabel by gpu_type, where GPUTypeOf does not derive it

	Requests     map[string]string `yaml:"requests"` // of a container, such as cpu: "8", memory: 32Gi
	Limits       map[string]string `yaml:"limits"`
	NodeSelector map[string]string `yaml:"node_selector"`
	Labels       map[string]string `yaml:"labels"`         // on all objects, such as kueue.x-k8s.io/queue-name
	Template     map[string]any    `yaml:"template,block"` // pod template to fill in; nil for an empty one

	MaxWait  time.Duration `yaml:"max_wait"` // for all pods of a trial to run
	Deadline time.Duration `yaml:"deadline"` // after which the cluster ends a trial, even if knee has died
}

// What one pod of a trial holds.
const (
	PerWorker = "worker" // one worker, or one parameter server
	PerNode   = "node"   // all workers of a node, started by the command, such as torchrun
)

// Defaults of [KubernetesSpec]: NVIDIA's device plugin and GPU feature discovery.
const (
	DefaultGPUResource = "nvidia.com/gpu"
	DefaultGPULabel    = "nvidia.com/gpu.product"
)

// noName disables gpu_resource or gpu_label.
const noName = "none"

// Kubernetes' forms of label values, names such as nvidia.com/gpu, and quantities.
var (
	labelValue     = regexp.MustCompile(`^([A-Za-z0-9]([-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?)?$`)
	qualifiedName  = regexp.MustCompile(`^([a-z0-9]([-a-z0-9.]*[a-z0-9])?/)?[A-Za-z0-9]([-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?$`)
	kubeQuantityRE = regexp.MustCompile(`^[0-9]+(\.[0-9]+)?([eE][0-9]+|m|k|M|G|T|P|Ki|Mi|Gi|Ti|Pi)?$`)
)

func (k *KubernetesSpec) defaults() {
	*k = KubernetesSpec{Per: PerWorker, GPUResource: DefaultGPUResource, GPULabel: DefaultGPULabel,
		MaxWait: 30 * time.Minute, Deadline: 6 * time.Hour}
}

func (k *KubernetesSpec) validate(o *object) {
	const label, amount = "a label value: up to 63 letters, digits, '-', '_' and '.'", "a quantity such as 8, 500m or 32Gi"
	for _, m := range []struct {
		key    string
		values map[string]string
		names  bool // the keys are qualified names
		form   *regexp.Regexp
		want   string
	}{{"gpu_types", k.GPUTypes, false, labelValue, label}, {"requests", k.Requests, true, kubeQuantityRE, amount}, {"limits", k.Limits, true, kubeQuantityRE, amount},
		{"node_selector", k.NodeSelector, true, labelValue, label}, {"labels", k.Labels, true, labelValue, label}} {
		for _, name := range slices.Sorted(maps.Keys(m.values)) {
			if m.names && !qualifiedName.MatchString(name) {
				o.fail(m.key, quote(name), "a name such as cpu or example.com/name")
			}
			if !m.form.MatchString(m.values[name]) {
				o.fail(m.key, quote(m.values[name])+" for "+name, m.want)
			}
		}
	}
	if k.Image == "" && PodImage(k.Template) == "" {
		o.y.fail(o.line, o.path, "no image", "image: the container image of the trials")
	}
}

// tree reads a pod template, nil if there is none. Scalars keep their YAML types.
func (o *object) tree(key string) map[string]any {
	n := o.get(key)
	if n == nil {
		return nil
	}
	if n.Kind != yaml.MappingNode {
		o.fail(key, describe(n), "a pod template: a mapping with the keys metadata and spec")
		return nil
	}
	v, _ := treeValue(o.y, n, o.sub(key), 0).(map[string]any)
	for _, k := range slices.Sorted(maps.Keys(v)) {
		if hint, ok := oneOf(k, []string{"metadata", "spec"}); !ok {
			o.y.fail(n.Line, o.sub(key)+"."+k, "an unknown key"+hint, "metadata or spec")
		}
	}
	if c := firstContainer(v); c != nil {
		if _, ok := c.(map[string]any); !ok {
			o.y.fail(n.Line, o.sub(key)+".spec.containers[0]", quote(fmt.Sprint(c)), "a container: a mapping")
		}
	}
	return v
}

// treeValue turns a node into the values that encoding/json writes.
func treeValue(y *yamlReader, n *yaml.Node, path string, depth int) any {
	n = y.value(n, depth)
	switch n.Kind {
	case yaml.MappingNode:
		out := map[string]any{}
		o := y.object(n, path)
		for _, k := range o.keys {
			if out[k] = nil; o.vals[k] != nil {
				out[k] = treeValue(y, o.vals[k], path+"."+k, depth+1)
			}
		}
		return out
	case yaml.SequenceNode:
		out := []any{}
		for i, c := range n.Content {
			out = append(out, treeValue(y, c, fmt.Sprintf("%s[%d]", path, i), depth+1))
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
		if f, ok := v.(float64); ok && f-f != 0 { // NaN or infinite
			y.fail(n.Line, path, quote(n.Value), "a finite number")
		}
		return v
	}
	return n.Value
}

// PodImage returns the image of the first container, which trains; perhaps empty.
func PodImage(pod map[string]any) string {
	c, _ := firstContainer(pod).(map[string]any)
	image, _ := c["image"].(string)
	return strings.TrimSpace(image)
}

func firstContainer(pod map[string]any) any {
	spec, _ := pod["spec"].(map[string]any)
	if list, _ := spec["containers"].([]any); len(list) > 0 {
		return list[0]
	}
	return nil
}
