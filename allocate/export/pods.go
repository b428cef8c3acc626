package export

import (
	"math"
	"strconv"
	"strings"

	"knee/data"
)

// Field names and nesting follow the core/v1 and kubeflow.org/v1 APIs.

const hostname = "kubernetes.io/hostname"

// jobLabel marks the pods of a job.
const jobLabel = "knee/job"

// pod is a pod specification of one container; restart, selector and affinity may be
// nil.
func pod(restart any, selector map[string]string, affinity any, container object) object {
	o := object{{"restartPolicy", restart}}
	if selector != nil {
		o = append(o, field{"nodeSelector", selector})
	}
	return append(o, field{"affinity", affinity}, field{"containers", []any{container}})
}

// containerOf is a container for a number of workers or parameter servers of a job,
// with what they need and a GPU for each worker. With a nil command it runs that of
// the image.
func containerOf(t task, name string, processes int, server bool, command []string, more ...field) object {
	o := object{{"name", name}, {"image", t.Template.Image}}
	if len(command) > 0 {
		o = append(o, field{"command", command})
	}
	return append(o, field{"env", append(t.variables(), variables(more)...)}, field{"resources", t.resources(processes, server)})
}

// variables are environment variables of a container.
func variables(of []field) []any {
	var out []any
	for _, v := range of {
		out = append(out, object{{"name", v.key}, {"value", v.value}})
	}
	return out
}

// variables is the environment of a job, escaped for the kubelet.
func (t task) variables() []any {
	var out []field
	for _, kv := range t.environment() {
		out = append(out, field{kv[0], literal(kv[1])})
	}
	return variables(out)
}

// resources is what a number of workers or servers need together, nil if nothing.
func (t task) resources(processes int, server bool) any {
	cpus, memory := t.Needs.WorkerCPUs, t.Needs.WorkerMemory
	if server {
		cpus, memory = t.Needs.PSCPUs, t.Needs.PSMemory
	}
	var o object
	request := map[string]string{}
	if cpus > 0 {
		request["cpu"] = strconv.FormatInt(int64(math.Ceil(cpus*1000*float64(processes)-1e-6)), 10) + "m"
	}
	if memory > 0 {
		request["memory"] = strconv.FormatInt(memory*int64(processes), 10)
	}
	if len(request) > 0 {
		o = append(o, field{"requests", request})
	}
	if !server && t.gpu() {
		o = append(o, field{"limits", map[string]string{gpuResource: strconv.Itoa(processes)}})
	}
	if o == nil {
		return nil
	}
	return o
}

const gpuResource = "nvidia.com/gpu"

// onNodes restricts pods to nodes.
func onNodes(nodes []string) object {
	term := object{{"matchExpressions", []any{object{{"key", hostname}, {"operator", "In"}, {"values", nodes}}}}}
	return object{{"nodeAffinity", object{{"requiredDuringSchedulingIgnoredDuringExecution", object{{"nodeSelectorTerms", []any{term}}}}}}}
}

// apart restricts pods to the nodes of a job's workers, one pod on each.
func apart(t task) object {
	other := object{{"labelSelector", object{{"matchLabels", map[string]string{jobLabel: t.ID}}}}, {"topologyKey", hostname}}
	return append(onNodes(t.hosts(false)), field{"podAntiAffinity", object{{"requiredDuringSchedulingIgnoredDuringExecution", []any{other}}}})
}

// labelled is a pod template with the label of the job.
func labelled(t task, spec object) object {
	return object{{"metadata", object{{"labels", map[string]string{jobLabel: t.ID}}}}, {"spec", spec}}
}

// perNode is the workers on every node, 0 if nodes differ.
func (t task) perNode() int {
	counts := t.config().Placement
	for _, n := range counts {
		if n != counts[0] {
			return 0
		}
	}
	return append(counts, 0)[0]
}

// hosts lists the nodes that hold workers, or parameter servers.
func (t task) hosts(servers bool) []string {
	var out []string
	for _, s := range t.Placement {
		if servers && s.PS > 0 || !servers && s.Workers > 0 {
			out = append(out, s.Node)
		}
	}
	return out
}

// command is that of the job, escaped for the kubelet.
func (t task) command() []string { return literals(t.Template.Command) }

func literals(command []string) []string {
	var out []string
	for _, a := range command {
		out = append(out, literal(a))
	}
	return out
}

// literal escapes text for the kubelet, which expands $(NAME) as a variable and $$
// as one dollar sign.
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

// nodeGroup is the workers, or the parameter servers, of one node.
type nodeGroup struct {
	name   string // w0, w1, …, ps0, …
	node   string
	count  int
	first  int // rank of the first; servers come after all workers
	server bool
}

// perNodeGroups lists the workers node by node, then the servers.
func (t task) perNodeGroups() []nodeGroup {
	var out []nodeGroup
	rank, n := 0, 0
	add := func(name string, s data.NodeShare, count int, server bool) {
		if count > 0 {
			out = append(out, nodeGroup{name + strconv.Itoa(n), s.Node, count, rank, server})
			rank, n = rank+count, n+1
		}
	}
	for _, s := range t.Placement {
		add("w", s, s.Workers, false)
	}
	n = 0
	for _, s := range t.Placement {
		add("ps", s, s.PS, true)
	}
	return out
}

// pod is the pods of a group, pinned to its node. A shell adds the index of the pod
// within its group to the first rank, and runs the command of the job. Ranks are as in
// a Slurm export.
func (g nodeGroup) pod(t task, index, master string) object {
	role := "worker"
	start := "export RANK=$((KNEE_FIRST_RANK + " + index + ")) LOCAL_RANK=0"
	if g.server {
		role = "ps"
		start += "; export KNEE_PS_RANK=$((RANK - KNEE_WORKERS))"
	}
	command := append([]string{"sh", "-c", literal(start + `; exec "$@"`), "knee"}, t.command()...)
	return pod("Never", map[string]string{hostname: g.node}, nil, containerOf(t, "train", 1, g.server, command,
		field{"KNEE_ROLE", role}, field{"KNEE_FIRST_RANK", strconv.Itoa(g.first)},
		field{"WORLD_SIZE", strconv.Itoa(t.Workers + t.PS)}, field{"MASTER_ADDR", master}, field{"MASTER_PORT", "29500"}))
}
