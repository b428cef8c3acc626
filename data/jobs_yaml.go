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
func ReadJobs(r io.Reader, name string) (*JobsFile, error) {
	y := &yamlReader{file: name}
	root := y.root(r, "jobs", "tenants")
	if y.err == nil && !root.has("jobs") {
		root.fail("jobs", "nothing", "a list of jobs")
	}
	f := &JobsFile{Tenants: readTenants(y, root)}
	seen := map[string]int{}
	for i, n := range root.items("jobs", "a list of jobs") {
		j := readJob(y, n, fmt.Sprintf("jobs[%d]", i))
		if line, dup := seen[j.Name]; dup {
			y.fail(n.Line, fmt.Sprintf("jobs[%d].name", i), quote(j.Name)+fmt.Sprintf(", which line %d names too", line), "each job once")
		}
		seen[j.Name] = n.Line
		f.Jobs = append(f.Jobs, j)
		if y.err != nil {
			break
		}
	}
	if y.err != nil {
		return nil, y.err
	}
	return f, nil
}

// readTenants reads who jobs belong to.
func readTenants(y *yamlReader, root *object) []Tenant {
	var out []Tenant
	at := map[string]int{}
	for i, n := range root.items("tenants", "a list of tenants") {
		o := y.object(n, fmt.Sprintf("tenants[%d]", i), "name", "weight", "quota", "parent")
		t := Tenant{Name: o.required("name", "the name of the tenant"), Weight: o.number("weight", 1, Positive("a number")), Parent: o.text("parent")}
		if q := o.object("quota"); q != nil && len(q.keys) > 0 {
			t.Quota = map[string]int{}
			for _, k := range q.keys {
				t.Quota[strings.ToLower(k)] = q.whole(k, 0, 0)
			}
		}
		if _, dup := at[t.Name]; dup {
			o.fail("name", quote(t.Name)+" a second time", "each tenant once")
		}
		at[t.Name] = i
		out = append(out, t)
	}
	for i, n := range root.items("tenants", "a list of tenants") {
		up := i
		for range out { // a chain of parents longer than the list is a circle
			if out[up].Parent == "" {
				break
			}
			next, known := at[out[up].Parent]
			if !known {
				y.fail(n.Line, fmt.Sprintf("tenants[%d].parent", i), quote(out[up].Parent), "the name of a tenant in the list")
				return out
			}
			up = next
		}
		if out[up].Parent != "" {
			y.fail(n.Line, fmt.Sprintf("tenants[%d].parent", i), "a circle of parents", "a tenant without a parent above it")
		}
	}
	return out
}

// LoadJobs reads the jobs file at path, as [ReadJobs] does; see [Open] for
// "-" and compressed files.
func LoadJobs(path string) (*JobsFile, error) {
	return load(path, ReadJobs)
}

func readJob(y *yamlReader, n *yaml.Node, path string) Job {
	o := y.object(n, path, "name", "id", "namespace", "user", "model", "tenant", "submitted", "requested", "priority", "remaining", "workers", "ps", "modes",
		"gpu_types", "batch", "weight", "deadline", "history", "current", "restart_seconds", "resources", "template")
	j := Job{
		Name:           o.required("name", "the name of the job"),
		ID:             o.text("id"),
		Namespace:      o.text("namespace"),
		User:           o.text("user"),
		Model:          o.text("model"),
		Tenant:         o.text("tenant"),
		Submitted:      o.moment("submitted"),
		Requested:      o.whole("requested", 0, 1),
		Priority:       o.number("priority", 0, Any("a number")),
		History:        readHistory(o),
		Workers:        readIntRange(o, "workers", 1),
		PS:             readIntRange(o, "ps", 0),
		GPUTypes:       lower(o.texts("gpu_types", "a list of GPU types")),
		Batch:          readBatch(o),
		Weight:         o.number("weight", 1, Positive("a number")),
		Current:        readCurrent(o),
		RestartSeconds: o.number("restart_seconds", 0, Seconds()),
		RestartGiven:   o.get("restart_seconds") != nil,
		Template:       readTemplate(o),
		Source:         Source{y.file, n.Line, path},
	}
	if j.Model != "" || o.has("remaining") {
		j.Remaining = readRemaining(o)
	}
	if j.Model == "" && o.get("current") == nil {
		o.fail("model", "nothing", "the path of its model, as knee fit writes it, unless the job runs (current) and is to stay as it is")
	}
	if text := o.scalar("deadline", "a deadline"); strings.Contains(text, ":") {
		j.DeadlineAt = o.moment("deadline")
	} else {
		j.Deadline = o.duration("deadline", 0)
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

// readHistory reads what accounts know, nil if the section is missing.
func readHistory(job *object) *History {
	o := job.object("history", "gpu_seconds", "seconds", "progress", "restarts", "by_type")
	if o == nil {
		return nil
	}
	h := &History{}
	figure := func(key string, b Bounds) *float64 {
		if o.get(key) == nil {
			return nil
		}
		v := o.number(key, 0, b)
		return &v
	}
	h.GPUSeconds, h.Seconds = figure("gpu_seconds", NonNegative("GPU-seconds")), figure("seconds", Seconds())
	if h.Progress = figure("progress", NonNegative("a share")); h.Progress != nil && *h.Progress > 1 {
		o.fail("progress", fmt.Sprint(*h.Progress), "a share of the work from 0 to 1")
	}
	if o.get("restarts") != nil {
		n := o.whole("restarts", 0, 0)
		h.Restarts = &n
	}
	if types := o.object("by_type"); types != nil && len(types.keys) > 0 {
		h.ByType = map[string]float64{}
		for _, k := range types.keys {
			h.ByType[strings.ToLower(k)] = types.number(k, 0, NonNegative("GPU-seconds"))
		}
	}
	if len(o.keys) == 0 {
		return nil
	}
	return h
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
