package launch

import (
	"cmp"
	"crypto/sha256"
	_ "embed"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"text/template"
	"time"

	"knee/data"
	"knee/internal/shell"
)

// slurmName is the same for an attempt, so that its job is found if no answer came.
func slurmName(t Trial) string {
	sum := sha256.Sum256([]byte(t.Log))
	return fmt.Sprintf("knee-%x-%d-%d", sum[:4], t.ID, t.Attempt)
}

// writeSlurmScript writes the batch script, and removes an earlier log of the name.
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
	if layout.Nodes > t.Config.Workers {
		return "", &Failure{Status: data.Infeasible, Detail: fmt.Sprintf("%d workers cannot be placed on %d nodes", t.Config.Workers, layout.Nodes)}
	}
	dir, err := filepath.Abs(t.Dir)
	if err != nil {
		return "", fmt.Errorf("name the folder of the trial: %w", err)
	}
	env := sharedEnv(t)
	maps.Copy(env, layout.env(t.Config))
	var b strings.Builder
	err = slurmTemplate.Execute(&b, map[string]any{
		"Trial": t, "Spec": spec, "About": oneLine(t.Config.Job + ": " + t.Config.String()), "Name": name,
		"Output": quoteDirective(strings.ReplaceAll(t.Log, "%", "%%")), // in Slurm's file names % begins a field
		"Time":   slurmTime(spec.Time), "GRES": slurmGRES(spec, t.Config), "Begin": markBegin, "End": markEnd, "Env": env,
		"LowestPort": lowestPort, "PortRange": portRange, "Dir": dir, "Layout": layout,
	})
	return b.String(), err
}

//go:embed slurm.sbatch.tmpl
var slurmText string

var slurmTemplate = template.Must(template.New("sbatch").Funcs(template.FuncMap{"quote": shell.Quote}).Parse(slurmText))

// slurmGRES is the GPUs per node, those of the widest; empty for processors.
func slurmGRES(spec data.SlurmSpec, c data.Config) string {
	name, gpu := spec.GRES, c.GPUType
	if name == "none" || gpu == "cpu" || (gpu == "" && name == "") {
		return ""
	}
	name = cmp.Or(name, "gpu")
	if called, ok := spec.GPUTypes[gpu]; ok {
		gpu = called
	}
	if gpu != "" && gpu != "gpu" { // a type that Slurm does not name
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
	Spec    data.SlurmSpec
	Nodes   int
	workers data.Placement
	PerNode data.Placement // tasks, parameter servers included
}

// newSlurmLayout places workers as configured, and servers round-robin beside them.
func newSlurmLayout(spec data.SlurmSpec, c data.Config) slurmLayout {
	l := slurmLayout{Spec: spec, Nodes: c.NodeCount(), workers: c.Placement}
	if len(l.workers) == 0 {
		l.workers = data.EvenPlacement(c.Workers, l.Nodes)
	}
	l.PerNode = slices.Repeat(data.Placement{1}, l.Nodes)
	if spec.PerNode || len(l.workers) == 0 {
		return l
	}
	copy(l.PerNode, l.workers)
	for j := range c.PS {
		l.PerNode[j%l.Nodes]++
	}
	return l
}

// Tasks and Widest are the tasks of the job, and those of the node with the most.
func (l slurmLayout) Tasks() int  { return l.PerNode.Workers() }
func (l slurmLayout) Widest() int { return slices.Max(l.PerNode) }

// Ordered reports whether Slurm's order, node after node, is workers, then servers.
func (l slurmLayout) Ordered() bool {
	servers := l.PerNode.Workers() != l.workers.Workers()
	return l.Spec.PerNode || !servers && slices.Min(l.PerNode) == slices.Max(l.PerNode) || l.Nodes == 1
}

// env is the environment of every task that depends on the layout.
func (l slurmLayout) env(c data.Config) map[string]string {
	env := map[string]string{"WORLD_SIZE": strconv.Itoa(c.Workers + c.PS)}
	if l.Spec.Srun && !l.Spec.PerNode && cpuOnly(c.GPUType) {
		env["OMP_NUM_THREADS"], env["GOMAXPROCS"] = "1", "1" // as for local ranks
	}
	return env
}

// RankNodes lists the node of each rank, " 0 0 1 1 0".
func (l slurmLayout) RankNodes() string {
	var b strings.Builder
	for node, k := range l.workers {
		b.WriteString(strings.Repeat(fmt.Sprintf(" %d", node), k))
	}
	for j := range l.PerNode.Workers() - l.workers.Workers() {
		fmt.Fprintf(&b, " %d", j%l.Nodes)
	}
	return b.String()
}

func quoteDirective(s string) string {
	if shell.Quote(s) == s {
		return s
	}
	return `"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`).Replace(s) + `"`
}
