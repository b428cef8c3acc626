package export

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"
	"unicode/utf8"

	"knee/data"
	"knee/profile/launch"

	"github.com/dustin/go-humanize/english"
)

// task is a checked job of a plan, with the name of its files.
type task struct {
	data.PlannedJob
	ID    string // DNS-1123 label, unique in the plan
	Queue string // of Kueue; empty: none
}

// Paused reports whether the job gets nothing.
func (t task) Paused() bool { return !t.Action.Runs() || t.Workers == 0 }

// Kept reports whether the job stays as it is.
func (t task) Kept() bool { return t.Action == data.Keep }

// Changed reports whether the job runs and must be stopped to follow the plan.
func (t task) Changed() bool {
	return t.Action == data.Grow || t.Action == data.Shrink || t.Action == data.Move
}

// tasks checks a plan for what all targets need, and returns its jobs.
func tasks(p data.Plan) ([]task, error) {
	if p.Version != data.PlanVersion {
		return nil, &Refusal{Reason: fmt.Sprintf("the plan has version %d, want %d", p.Version, data.PlanVersion)}
	}
	var out []task
	owner := map[string]string{}
	for _, j := range p.Jobs {
		t := task{PlannedJob: j, ID: label(j.Name)}
		if other, ok := owner[t.ID]; ok {
			return nil, t.refuse("its name becomes %q, as that of job %q does; rename one", t.ID, other)
		}
		owner[t.ID] = j.Name
		if reason := t.problem(); reason != "" {
			return nil, t.refuse("%s", reason)
		}
		if !t.Plain() {
			t.Range = data.IntRange{} // a model spread over workers cannot lose one, and its micro-steps follow from their number
		}
		var err error
		if t.Template.Command, err = t.rendered(); err != nil {
			return nil, t.refuse("%v", err)
		}
		out = append(out, t)
	}
	return out, nil
}

// refuse returns the error that a target cannot express the job.
func (t task) refuse(format string, args ...any) *Refusal {
	return &Refusal{Job: t.Name, Reason: fmt.Sprintf(format, args...)}
}

// expressible refuses a job without a command if the target needs one, one with parameter
// servers if the target cannot start them, and a wrong time limit.
func (t task) expressible(target string, command, servers bool) error {
	switch {
	case t.PS > 0 && !servers:
		return t.refuse("it uses parameter servers, which %s does not start; export it to tfjob, jobset or slurm", target)
	case command && len(t.Template.Command) == 0:
		return t.refuse("template.command is empty, and %s needs one; apply plans of a live queue with knee apply", target)
	}
	_, err := t.Limit()
	return err
}

// problem returns what is inconsistent or unsafe to write, empty if nothing.
func (t task) problem() string {
	for k, v := range t.Template.Env {
		if !envName.MatchString(k) {
			return fmt.Sprintf("environment variable %q: want letters, digits and _, not starting with a digit", k)
		}
		if !isText(v) {
			return fmt.Sprintf("environment variable %s contains a NUL byte or no UTF-8", k)
		}
	}
	if !isText(t.Name) || slices.ContainsFunc(t.Template.Command, func(a string) bool { return !isText(a) }) {
		return "its name or command contains a NUL byte or no UTF-8"
	}
	if t.Paused() {
		return ""
	}
	if t.LocalBatch != math.Trunc(t.LocalBatch) {
		return fmt.Sprintf("a batch of %g samples per worker, want a whole number", t.LocalBatch)
	}
	if t.Mode.UsesPS() && t.PS == 0 {
		return "its mode is " + string(t.Mode) + ", but the plan gives it no parameter server"
	}
	if len(t.Placement) == 0 {
		return "the plan does not say on which nodes it runs"
	}
	workers, ps := 0, 0
	for _, s := range t.Placement {
		if !nodeName.MatchString(s.Node) {
			return fmt.Sprintf("node name %q: want letters, digits, ., - and _", s.Node)
		}
		if s.Workers < 0 || s.PS < 0 || s.Workers+s.PS == 0 {
			return fmt.Sprintf("node %s: %s and %d ps, want at least one process", s.Node, english.Plural(s.Workers, "worker", ""), s.PS)
		}
		workers, ps = workers+s.Workers, ps+s.PS
	}
	if workers != t.Workers || ps != t.PS {
		return fmt.Sprintf("its placement holds %s and %d ps, want %d and %d", english.Plural(workers, "worker", ""), ps, t.Workers, t.PS)
	}
	return ""
}

func isText(s string) bool { return utf8.ValidString(s) && !strings.ContainsRune(s, 0) }

// rendered is the command of the job, its template filled in as for a trial.
func (t task) rendered() ([]string, error) {
	if t.Paused() || !slices.ContainsFunc(t.Template.Command, func(a string) bool { return strings.Contains(a, "{{") }) {
		return t.Template.Command, nil
	}
	return data.RenderCommand(t.Template.Command, t.Config(), data.Source{File: "template"})
}

// Environment is the owner's variables, then those of the training contract.
func (t task) Environment() (out [][2]string) {
	told := launch.Contract(t.Config(), t.InitialBatch)
	told["KNEE_JOB"] = t.Name
	for _, env := range []map[string]string{t.Template.Env, told} {
		for _, k := range slices.Sorted(maps.Keys(env)) {
			out = append(out, [2]string{k, env[k]})
		}
	}
	return out
}

// GPU is what the scheduler calls the GPU type.
func (t task) GPU() string { return cmp.Or(t.GPUName, t.GPUType) }

// HasGPUs reports whether a worker holds a GPU.
func (t task) HasGPUs() bool { return t.GPUType != "" && t.GPUType != "cpu" }

// needs is the cores and bytes of a worker, or of a parameter server.
func (t task) needs(server bool) (cpus float64, memory int64) {
	if server {
		return t.Resources.PSCPUs, t.Resources.PSMemory
	}
	return t.Resources.WorkerCPUs, t.Resources.WorkerMemory
}
