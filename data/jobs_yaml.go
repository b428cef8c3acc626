package data

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"

	"knee/internal/hostlist"
)

// ReadJobs reads jobs.yaml from r. Paths of models stay as they are written,
// relative to the file; the line of each job is in its Source. The list may
// be empty, as a queue is now and then.
func ReadJobs(r io.Reader, name string) ([]Job, error) {
	y := &yamlReader{file: name}
	root := y.root(r, "jobs")
	if y.err == nil && !root.has("jobs") {
		root.fail("jobs", "nothing", "a list of jobs")
	}
	var jobs []Job
	seen := map[string]int{}
	for i, n := range root.items("jobs", "a list of jobs") {
		j := readJob(y, n, fmt.Sprintf("jobs[%d]", i))
		if line, dup := seen[j.Name]; dup {
			y.fail(n.Line, fmt.Sprintf("jobs[%d].name", i), quote(j.Name)+fmt.Sprintf(", which line %d names too", line), "each job once")
		}
		seen[j.Name] = n.Line
		jobs = append(jobs, j)
		if y.err != nil {
			break
		}
	}
	if y.err != nil {
		return nil, y.err
	}
	return jobs, nil
}

// LoadJobs reads the jobs file at path, as [ReadJobs] does; see [Open] for
// "-" and compressed files.
func LoadJobs(path string) ([]Job, error) {
	return load(path, ReadJobs)
}

func readJob(y *yamlReader, n *yaml.Node, path string) Job {
	o := y.object(n, path, "name", "model", "remaining", "workers", "ps", "modes", "gpu_types", "batch", "weight",
		"deadline", "current", "restart_seconds", "resources", "template")
	j := Job{
		Name:           o.required("name", "the name of the job"),
		Model:          o.required("model", "the path of its model, as knee fit writes it"),
		Remaining:      readRemaining(o),
		Workers:        readIntRange(o, "workers", 1),
		PS:             readIntRange(o, "ps", 0),
		GPUTypes:       lower(o.texts("gpu_types", "a list of GPU types")),
		Batch:          readBatch(o),
		Weight:         o.number("weight", 1, Positive("a number")),
		Deadline:       o.duration("deadline", 0),
		Current:        readCurrent(o),
		RestartSeconds: o.number("restart_seconds", 0, Seconds()),
		Template:       readTemplate(o),
		Source:         Source{y.file, n.Line, path},
	}
	for _, m := range o.texts("modes", "a list of modes") {
		if hint, ok := oneOf(m, modeNames()); !ok {
			o.fail("modes", quote(m)+hint, "allreduce, ps-sync or ps-async")
		}
		j.Modes = append(j.Modes, Mode(m))
	}
	if slices.ContainsFunc(j.GPUTypes, func(t string) bool { return t == "" || !singleLine(t) }) {
		o.fail("gpu_types", "a type that is no name", "a list of GPU types such as [a100, t4]")
	}
	o.distinct("gpu_types", j.GPUTypes)
	o.distinct("modes", names(j.Modes))
	res := o.object("resources", "worker", "ps")
	j.Resources = Resources{Worker: readNeed(res, "worker"), PS: readNeed(res, "ps")}
	return j
}

// readRemaining reads the work left, said in exactly one way.
func readRemaining(job *object) Remaining {
	const want = "one of {steps: …}, {target_loss: …}, {epochs: …, dataset: …}, {seconds: …}"
	o := job.object("remaining", "steps", "target_loss", "epochs", "dataset", "seconds")
	r := Remaining{
		Steps:      o.number("steps", 0, Positive("optimizer steps")),
		TargetLoss: o.number("target_loss", 0, Any("a loss")),
		HasTarget:  o.get("target_loss") != nil,
		Epochs:     o.number("epochs", 0, Positive("epochs")),
		Dataset:    o.number("dataset", 0, Positive("samples per epoch")),
		Seconds:    o.number("seconds", 0, PositiveSeconds()),
	}
	var ways []string
	for _, key := range []string{"steps", "target_loss", "epochs", "seconds"} {
		if o.get(key) != nil {
			ways = append(ways, key)
		}
	}
	switch {
	case len(ways) == 0:
		job.fail("remaining", "no amount of work", want)
	case len(ways) > 1:
		job.fail("remaining", strings.Join(ways, " and "), want)
	case (r.Epochs > 0) != (r.Dataset > 0):
		job.fail("remaining", "only one of epochs and dataset", "both, dataset being the samples of an epoch")
	}
	return r
}

// readIntRange reads {min: …, max: …}, of which either may be left out.
func readIntRange(job *object, key string, least int) IntRange {
	o := job.object(key, "min", "max")
	r := IntRange{Min: o.whole("min", 0, least), Max: o.whole("max", 0, max(least, 1))}
	if r.Max > 0 && r.Max < r.Min {
		o.fail("max", fmt.Sprint(r.Max), fmt.Sprintf("at least min, %d", r.Min))
	}
	return r
}

func readNeed(res *object, key string) Need {
	o := res.object(key, "cpus", "memory")
	return Need{CPUs: o.number("cpus", 0, NonNegative("cores")), Memory: o.quantity("memory")}
}

// readCurrent reads what a job runs on now, nil if the section is missing.
func readCurrent(job *object) *Current {
	o := job.object("current", append([]string{"gpu_type", "mode", "placement", "ps", "local_batch", "accum_steps", "nodes"}, LayoutNames()...)...)
	if o == nil {
		return nil
	}
	c := &Current{
		GPUType:    strings.ToLower(o.required("gpu_type", "the GPU type it runs on")),
		PS:         o.whole("ps", 0, 0),
		LocalBatch: o.number("local_batch", 0, Samples()),
		AccumSteps: o.whole("accum_steps", 0, 0),
		Nodes:      readHosts(o),
	}
	mode, key, found, want := checkMode(o.scalar("mode", "a mode"), c.PS)
	if want != "" {
		o.fail(key, found, want)
	}
	c.Mode = mode
	text := o.required("placement", `workers per node, such as "4-4-2"`)
	var err error
	if c.Placement, err = ParsePlacement(text); err != nil || c.Placement.Workers() > maxCount || c.Placement.Workers() < 1 {
		o.fail("placement", quote(text), `workers per node, such as "4-4-2"`)
	}
	for _, name := range LayoutNames() {
		if v := o.scalar(name, "a part of the layout"); v != "" {
			if want := c.Layout.Set(name, v); want != "" {
				o.fail(name, quote(v), want)
			}
		}
	}
	if column, found, want := c.Layout.Check(c.Placement.Workers(), c.Mode, Architecture{}); want != "" {
		o.fail(strings.Replace(column, "workers", "placement", 1), found, want)
	}
	if len(c.Nodes) > 0 && len(c.Nodes) != len(c.Placement) {
		o.fail("nodes", fmt.Sprintf("%d nodes", len(c.Nodes)), fmt.Sprintf("%d, one for each number of the placement", len(c.Placement)))
	}
	o.distinct("nodes", c.Nodes)
	return c
}

// readHosts reads node names: a host list, or a list of them.
func readHosts(o *object) []string {
	const want = `node names: a host list such as "a[01-04]", or a list`
	n := o.get("nodes")
	if n == nil {
		return nil
	}
	lists := []string{n.Value}
	if n.Kind != yaml.ScalarNode {
		lists = o.texts("nodes", want)
	}
	var hosts []string
	for _, list := range lists {
		names, err := hostlist.Expand(list)
		if err != nil {
			o.fail("nodes", err.Error(), want)
			return nil
		}
		if hosts = append(hosts, names...); len(hosts) > hostlist.MaxHosts {
			o.fail("nodes", fmt.Sprintf("%d names so far", len(hosts)), fmt.Sprintf("at most %d", hostlist.MaxHosts))
			return nil
		}
	}
	return hosts
}

func readTemplate(job *object) Template {
	o := job.object("template", "image", "command", "env", "namespace", "partition", "account", "time_limit", "pod")
	return Template{
		Image:     o.text("image"),
		Command:   o.texts("command", "a list of arguments such as [python, train.py]"),
		Env:       o.textMap("env", "the name of an environment variable"),
		Namespace: o.text("namespace"),
		Partition: o.text("partition"),
		Account:   o.text("account"),
		TimeLimit: o.text("time_limit"),
		Pod:       o.tree("pod"),
	}
}
