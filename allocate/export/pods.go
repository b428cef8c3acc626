package export

import (
	"fmt"
	"maps"
	"math"
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"knee/internal/list"
)

// pods are equal pods of a job, of one container each, as the templates of manifests
// write them.
type pods struct {
	task
	Container string
	Replicas  int
	Processes int      // workers, or parameter servers, of each; 0: neither
	Args      []string // command; empty: that of the image
	Allowed   []string // nodes they may be on; empty: any
	Node      string   // node they are pinned to
	Restart   string   // restart policy; empty: left to the kind
	Apart     bool     // one on each of the nodes
	Server    bool
	more      []string // names and values of variables besides those of the job
}

// Pods are pods of workers.
func (t task) Pods(container string, replicas, processes int, args, allowed []string) pods {
	return pods{task: t, Container: container, Replicas: replicas, Processes: processes, Args: args, Allowed: allowed}
}

// Serve are the same pods with parameter servers.
func (p pods) Serve() pods {
	p.Server = true
	return p
}

// OnePerNode are the same pods on nodes of their own.
func (p pods) OnePerNode() pods {
	p.Apart = true
	return p
}

// On are pods of a group, pinned to its node.
func (t task) On(g group, container string, processes int, args []string) pods {
	p := t.Pods(container, 1, processes, args, nil)
	p.Node, p.Server = g.Nodes[0], g.Server
	return p
}

// Ranked are pods of one process of a group. A shell adds the index of the pod within its
// group to the first rank, and runs the command of the job. Ranks are as in a Slurm
// export.
func (t task) Ranked(g group, index, master string) pods {
	role, start := "worker", "export RANK=$((KNEE_FIRST_RANK + "+index+")) LOCAL_RANK=0"
	if g.Server {
		role, start = "ps", start+"; export KNEE_PS_RANK=$((RANK - KNEE_WORKERS))"
	}
	p := t.On(g, "train", 1, append([]string{"sh", "-c", literal(start + `; exec "$@"`), "knee"}, t.Command()...))
	p.Restart, p.more = "Never", []string{"KNEE_ROLE", role, "KNEE_FIRST_RANK", strconv.Itoa(g.First),
		"WORLD_SIZE", strconv.Itoa(t.Workers + t.PS), "MASTER_ADDR", master, "MASTER_PORT", "29500"}
	return p
}

// Environment is that of the job, and more.
func (p pods) Environment() [][2]string { return p.task.With(p.more...) }

// With is the environment of the job with names and values of further variables.
func (t task) With(more ...string) [][2]string {
	out := t.Environment()
	for pair := range slices.Chunk(more, 2) {
		out = append(out, [2]string{pair[0], pair[1]})
	}
	return out
}

// Amounts are what one of the pods needs, nil if it runs no process.
func (p pods) Amounts() map[string]string {
	if p.Processes == 0 {
		return nil
	}
	out := map[string]string{}
	cpus, memory := p.needs(p.Server)
	if cpus > 0 {
		out["cpu"] = fmt.Sprintf("%dm", int64(math.Ceil(cpus*1000*float64(p.Processes)-1e-6)))
	}
	if memory > 0 {
		out["memory"] = strconv.FormatInt(memory*int64(p.Processes), 10)
	}
	if !p.Server && p.HasGPUs() {
		out["gpu"] = strconv.Itoa(p.Processes)
	}
	return out
}

// gpuResource matches what vendors call a GPU or a slice of one.
var gpuResource = regexp.MustCompile(`^[a-z0-9.-]+/gpu$|^nvidia\.com/mig-[a-z0-9.+-]+$|^gpu\.intel\.com/[a-z0-9_-]+$`)

// GPUResource is what a pod requests as a GPU: what the container that trains is limited
// to in the job's pod template, else NVIDIA's.
func (t task) GPUResource() string {
	spec, _ := t.Template.Pod["spec"].(map[string]any)
	containers, _ := spec["containers"].([]any)
	for _, c := range containers[:min(1, len(containers))] {
		container, _ := c.(map[string]any)
		resources, _ := container["resources"].(map[string]any)
		limits, _ := resources["limits"].(map[string]any)
		for _, name := range slices.Sorted(maps.Keys(limits)) {
			if gpuResource.MatchString(name) {
				return name
			}
		}
	}
	return "nvidia.com/gpu"
}

// Threads is the cores of a worker for a library of threads.
func (t task) Threads() string { return strconv.Itoa(max(1, int(t.Resources.WorkerCPUs))) }

// PerNode is the workers on every node, 0 if nodes differ.
func (t task) PerNode() int {
	counts := t.Config().Placement
	if slices.ContainsFunc(counts, func(n int) bool { return n != counts[0] }) {
		return 0
	}
	return append(counts, 0)[0]
}

// group is the workers, or the parameter servers, of a job on one node.
type group struct {
	Name   string // w0, w1, …, ps0, …
	Nodes  []string
	Count  int // on each node
	First  int // rank of the first; servers come after all workers
	Server bool
}

// Groups lists the workers node by node, then the servers.
func (t task) Groups() (out []group) {
	rank := 0
	for server, name := range []string{"w", "ps"} {
		n := 0
		for _, s := range t.Placement {
			if count := []int{s.Workers, s.PS}[server]; count > 0 {
				out = append(out, group{name + strconv.Itoa(n), []string{s.Node}, count, rank, server > 0})
				rank, n = rank+count, n+1
			}
		}
	}
	return out
}

// Hosts are the nodes that hold workers, or parameter servers.
func (t task) Hosts(servers bool) (out []string) {
	for _, g := range t.Groups() {
		if g.Server == servers {
			out = append(out, g.Nodes...)
		}
	}
	return out
}

// Command is that of the job, escaped for the kubelet.
func (t task) Command() []string { return literals(t.Template.Command) }

// Launcher is mpirun with the command of the job, unless that calls it. It names every
// variable, since ssh, by which mpirun starts the ranks, passes none on.
func (t task) Launcher() []string {
	if slices.Contains([]string{"mpirun", "mpiexec", "horovodrun"}, path.Base(t.Template.Command[0])) {
		return t.Command()
	}
	out := []string{"mpirun", "-np", strconv.Itoa(t.Workers), "--allow-run-as-root", "--bind-to", "none"}
	for _, kv := range t.Environment() {
		out = append(out, "-x", kv[0])
	}
	return append(out, t.Command()...)
}

// Elastic reports whether a PyTorchJob can have fewer and more workers.
func (t task) Elastic() bool { return t.Range.Max > t.Range.Min && t.torchrun() }

// torchrun reports whether the command is torchrun, which starts the workers of a node
// itself.
func (t task) torchrun() bool {
	c := append(slices.Clone(t.Template.Command), "", "", "")
	return path.Base(c[0]) == "torchrun" ||
		strings.HasPrefix(path.Base(c[0]), "python") && c[1] == "-m" && (c[2] == "torch.distributed.run" || c[2] == "torch.distributed.launch")
}

func literals(command []string) []string { return list.Map(command, literal) }

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
