package launch

import (
	"crypto/sha256"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"knee/data"
)

// slurmName is a job's name, a function of log, trial and attempt: if the answer
// to a submission was lost, the job can be found.
func slurmName(t Trial) string {
	sum := sha256.Sum256([]byte(t.Log))
	return fmt.Sprintf("knee-%x-%d-%d", sum[:4], t.ID, t.Attempt)
}

// writeSlurmScript writes the batch script of a trial beside its log. It removes
// an earlier log of that name: logs are read from their beginning.
func writeSlurmScript(spec data.SlurmSpec, t Trial, name string) (path string, err error) {
	path = strings.TrimSuffix(t.Log, filepath.Ext(t.Log)) + ".sbatch"
	if path == t.Log {
		path += ".sh"
	}
	text, err := slurmScript(spec, t, name)
	if err != nil {
		return "", err
	}
	if err := os.Remove(t.Log); err != nil && !os.IsNotExist(err) {
		return "", fmt.Errorf("remove an older log of the trial: %w", err)
	}
	return path, data.WriteFile(path, func(w io.Writer) error { _, err := io.WriteString(w, text); return err })
}

func slurmScript(spec data.SlurmSpec, t Trial, name string) (string, error) {
	if len(t.Command) == 0 {
		return "", fmt.Errorf("the study has no command to launch")
	}
	layout := newSlurmLayout(spec, t.Config)
	if layout.nodes > t.Config.Workers {
		return "", &Failure{Status: data.Infeasible, Exit: -1, Detail: fmt.Sprintf("%d workers cannot be placed on %d nodes", t.Config.Workers, layout.nodes)}
	}
	dir, err := filepath.Abs(t.Dir)
	if err != nil {
		return "", fmt.Errorf("name the folder of the trial: %w", err)
	}
	var b strings.Builder
	line := func(format string, args ...any) { fmt.Fprintf(&b, format+"\n", args...) }
	line("#!/bin/bash")
	line("# knee: trial %d of %s: %s", t.ID, printable(t.Config.Job), printable(t.Config.String()))
	for _, d := range slurmDirectives(spec, t, name, layout) {
		line("#SBATCH %s", d)
	}
	line("")
	line("echo %s on \"$SLURM_JOB_NODELIST\"", shellQuote(markBegin))
	env := sharedEnv(t)
	maps.Copy(env, layout.env(t.Config))
	for _, k := range slices.Sorted(maps.Keys(env)) {
		line("export %s=%s", k, shellQuote(env[k]))
	}
	b.WriteString(slurmAddresses(t.Config.PS))
	for _, k := range slices.Sorted(maps.Keys(t.Env)) {
		line("export %s=%s", k, shellQuote(t.Env[k]))
	}
	line("cd -- %s || exit 1", shellQuote(dir))
	line("")
	b.WriteString(layout.run(t.Command))
	line("code=$?")
	line("echo \"%s$code\"", markEnd)
	line("exit $code")
	return b.String(), nil
}

func slurmDirectives(spec data.SlurmSpec, t Trial, name string, l slurmLayout) []string {
	// In Slurm's file names % begins a field.
	out := []string{"--job-name=" + name, "--output=" + quoteDirective(strings.ReplaceAll(t.Log, "%", "%%")), "--open-mode=append", "--no-requeue"}
	for _, o := range [][2]string{{"partition", spec.Partition}, {"account", spec.Account}, {"time", slurmTime(spec.Time)}} {
		if o[1] != "" {
			out = append(out, "--"+o[0]+"="+o[1])
		}
	}
	out = append(out, fmt.Sprintf("--nodes=%d", l.nodes), fmt.Sprintf("--ntasks=%d", l.perNode.Workers()), fmt.Sprintf("--ntasks-per-node=%d", slices.Max(l.perNode)))
	if gres := slurmGRES(spec, t.Config); gres != "" {
		out = append(out, "--gres="+gres)
	}
	return append(out, spec.Directives...)
}

// slurmGRES returns the GPUs requested per node: one for each worker of the
// node with the most. Empty for training on processors.
func slurmGRES(spec data.SlurmSpec, c data.Config) string {
	name, gpu := spec.GRES, c.GPUType
	if name == "none" || gpu == "cpu" || (gpu == "" && name == "") {
		return ""
	}
	if name == "" {
		name = "gpu"
	}
	if called, ok := spec.GPUTypes[gpu]; ok {
		gpu = called
	}
	if gpu != "" {
		name += ":" + gpu
	}
	return fmt.Sprintf("%s:%d", name, c.WidestNode())
}

// slurmTime formats a limit as D-HH:MM:00, rounded up; empty for none.
func slurmTime(d time.Duration) string {
	if d <= 0 {
		return ""
	}
	minutes := int((d + time.Minute - 1) / time.Minute)
	return fmt.Sprintf("%d-%02d:%02d:00", minutes/(24*60), minutes/60%24, minutes%60)
}

type slurmLayout struct {
	spec    data.SlurmSpec
	nodes   int
	workers data.Placement
	perNode data.Placement // tasks, parameter servers included
}

// newSlurmLayout places the workers as the configuration says, and the
// parameter servers round-robin on the same nodes.
func newSlurmLayout(spec data.SlurmSpec, c data.Config) slurmLayout {
	l := slurmLayout{spec: spec, nodes: c.NodeCount(), workers: c.Placement}
	if len(l.workers) == 0 {
		l.workers = data.EvenPlacement(c.Workers, l.nodes)
	}
	l.perNode = slices.Repeat(data.Placement{1}, l.nodes)
	if spec.PerNode || len(l.workers) == 0 {
		return l
	}
	copy(l.perNode, l.workers)
	for j := range c.PS {
		l.perNode[j%l.nodes]++
	}
	return l
}

// ordered reports whether Slurm's default task order, node after node, is the
// order of ranks: workers first, then servers.
func (l slurmLayout) ordered() bool {
	servers := l.perNode.Workers() != l.workers.Workers()
	return l.spec.PerNode || !servers && slices.Min(l.perNode) == slices.Max(l.perNode) || l.nodes == 1
}

// env is the environment of every task that depends on the layout.
func (l slurmLayout) env(c data.Config) map[string]string {
	env := map[string]string{"WORLD_SIZE": strconv.Itoa(c.Workers + c.PS)}
	if l.spec.Srun && !l.spec.PerNode && cpuOnly(c.GPUType) {
		env["OMP_NUM_THREADS"], env["GOMAXPROCS"] = "1", "1" // as for local ranks
	}
	return env
}

func (l slurmLayout) run(command []string) string {
	words := make([]string, len(command))
	for i, w := range command {
		words[i] = shellQuote(w)
	}
	args := strings.Join(words, " ")
	if !l.spec.Srun {
		return args + "\n"
	}
	var b strings.Builder
	options := "--label --kill-on-bad-exit=1"
	if !l.ordered() {
		// One line per rank with its node: by default Slurm numbers tasks node after
		// node, but the servers must come last.
		b.WriteString("unset SLURM_NTASKS_PER_NODE # of the widest node, and a warning of every srun\n")
		b.WriteString("export SLURM_HOSTFILE=$(mktemp)\n")
		b.WriteString("trap 'rm -f \"$SLURM_HOSTFILE\"' EXIT\n")
		fmt.Fprintf(&b, "for i in%s; do echo \"${nodes[$i]}\"; done >\"$SLURM_HOSTFILE\"\n", l.rankNodes())
		options += " --distribution=arbitrary"
	}
	// From 22.05 on, srun does not inherit the cores per task from sbatch.
	b.WriteString("[ -z \"${SLURM_CPUS_PER_TASK:-}\" ] || export SRUN_CPUS_PER_TASK=$SLURM_CPUS_PER_TASK\n")
	if l.spec.PerNode {
		options += " --ntasks-per-node=1"
	}
	// srun must not read the script's standard input.
	fmt.Fprintf(&b, "srun %s bash -c '\n%s' knee %s </dev/null\n", options, l.rank(), args)
	return b.String()
}

// rankNodes lists the node of each rank, " 0 0 1 1 0".
func (l slurmLayout) rankNodes() string {
	var b strings.Builder
	for node, k := range l.workers {
		b.WriteString(strings.Repeat(fmt.Sprintf(" %d", node), k))
	}
	for j := range l.perNode.Workers() - l.workers.Workers() {
		fmt.Fprintf(&b, " %d", j%l.nodes)
	}
	return b.String()
}

// rank is the shell code that sets a task's rank variables as [Local] does.
func (l slurmLayout) rank() string {
	return fmt.Sprintf(`  tasks=(%s)
  export RANK=$SLURM_PROCID LOCAL_RANK=$SLURM_LOCALID NODE_RANK=$SLURM_NODEID
  export LOCAL_WORLD_SIZE=${tasks[SLURM_NODEID]} KNEE_ROLE=worker
  if [ "$RANK" -ge "$KNEE_WORKERS" ]; then
    export KNEE_ROLE=ps KNEE_PS_RANK=$((RANK - KNEE_WORKERS))
  fi
  exec "$@"`, strings.ReplaceAll(l.perNode.String(), "-", " "))
}

// slurmAddresses is the shell code that sets the addresses of rank 0 and the
// parameter servers. A node's name is its address unless it does not resolve,
// as on virtual nodes. Ports depend on the job's number, since two trials may
// share a node.
func slurmAddresses(servers int) string {
	s := `nodes=($(scontrol show hostnames "$SLURM_JOB_NODELIST"))
address() { if getent hosts "$1" >/dev/null; then echo "$1"; else hostname; fi; }
export MASTER_ADDR=$(address "${nodes[0]}")
export MASTER_PORT=$((` + fmt.Sprintf("%d + SLURM_JOB_ID * 16 %% %d", lowestPort, portRange) + `))
`
	if servers == 0 {
		return s
	}
	return s + fmt.Sprintf(`for ((j = 0; j < %d; j++)); do
  KNEE_PS_HOSTS+=${KNEE_PS_HOSTS:+,}$(address "${nodes[j %% ${#nodes[@]}]}"):$((MASTER_PORT + 1 + j))
done
export KNEE_PS_HOSTS
`, servers)
}

var shellSafe = regexp.MustCompile(`^[A-Za-z0-9_@%+=:,./-]+$`)

func shellQuote(s string) string {
	if shellSafe.MatchString(s) {
		return s
	}
	return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'"
}

func quoteDirective(s string) string {
	if shellSafe.MatchString(s) {
		return s
	}
	return `"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`).Replace(s) + `"`
}

func printable(s string) string { return strings.Join(strings.Fields(s), " ") }
