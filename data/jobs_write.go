package data

import (
	"io"
	"maps"
	"slices"
	"strconv"

	"go.yaml.in/yaml/v3"

	"knee/internal/hostlist"
)

// WriteJobs writes jobs.yaml. Jobs that [ReadJobs] would refuse are an error.
func WriteJobs(w io.Writer, f *JobsFile) error {
	list := newYAMLList()
	if len(f.Jobs) == 0 {
		list.Style = yaml.FlowStyle
	}
	for _, j := range f.Jobs {
		list.Content = append(list.Content, jobMap(j).node)
	}
	tenants := newYAMLList()
	for _, t := range f.Tenants {
		tenants.Content = append(tenants.Content, tenantMap(t).flow())
	}
	doc := newYAMLMap()
	if len(f.Tenants) > 0 {
		doc.put("tenants", tenants)
	}
	doc.put("jobs", list)
	return writeYAML(w, "jobs", doc, func(r io.Reader) error {
		_, err := ReadJobs(r, "jobs")
		return err
	})
}

func tenantMap(t Tenant) yamlMap {
	m := newYAMLMap()
	m.text("name", t.Name)
	if t.Weight != 1 {
		m.number("weight", t.Weight)
	}
	m.text("parent", t.Parent)
	if t.Quota != nil {
		quota := newYAMLMap()
		for _, k := range slices.Sorted(maps.Keys(t.Quota)) {
			quota.put(k, rawNode(strconv.Itoa(t.Quota[k])))
		}
		m.put("quota", quota.flow())
	}
	return m
}

func historyMap(h *History) yamlMap {
	m := newYAMLMap()
	m.figure("gpu_seconds", h.GPUSeconds)
	m.figure("seconds", h.Seconds)
	m.figure("progress", h.Progress)
	if h.Restarts != nil {
		m.put("restarts", rawNode(strconv.Itoa(*h.Restarts)))
	}
	if h.ByType != nil {
		types := newYAMLMap()
		for _, k := range slices.Sorted(maps.Keys(h.ByType)) {
			types.put(k, numberNode(h.ByType[k]))
		}
		m.put("by_type", types.flow())
	}
	return m
}

func jobMap(j Job) yamlMap {
	m := newYAMLMap()
	m.text("name", j.Name)
	m.text("id", j.ID)
	m.text("namespace", j.Namespace)
	m.text("user", j.User)
	m.text("model", j.Model)
	m.text("tenant", j.Tenant)
	m.moment("submitted", j.Submitted)
	m.count("requested", j.Requested)
	m.number("priority", j.Priority)
	if j.History != nil {
		m.put("history", historyMap(j.History).flow())
	}
	m.put("remaining", remainingMap(j.Remaining).flow())
	m.put("workers", intRangeMap(j.Workers).flow())
	m.put("ps", intRangeMap(j.PS).flow())
	m.texts("modes", names(j.Modes))
	m.texts("gpu_types", j.GPUTypes)
	m.put("batch", batchMap(j.Batch).flow())
	if j.Weight != 1 {
		m.number("weight", j.Weight)
	}
	m.duration("deadline", j.Deadline)
	m.moment("deadline", j.DeadlineAt)
	if j.Current != nil {
		m.put("current", currentMap(*j.Current).flow())
	}
	if j.RestartSeconds != 0 || j.RestartGiven {
		m.put("restart_seconds", numberNode(j.RestartSeconds))
	}
	resources := newYAMLMap()
	resources.put("worker", needMap(j.Resources.Worker).flow())
	resources.put("ps", needMap(j.Resources.PS).flow())
	m.put("resources", resources.flow())
	m.put("template", templateMap(j.Template).unlessEmpty())
	return m
}

func remainingMap(r Remaining) yamlMap {
	m := newYAMLMap()
	m.number("steps", r.Steps)
	if r.HasTarget {
		m.put("target_loss", numberNode(r.TargetLoss))
	}
	m.number("epochs", r.Epochs)
	m.number("dataset", r.Dataset)
	m.number("seconds", r.Seconds)
	return m
}

func intRangeMap(r IntRange) yamlMap {
	m := newYAMLMap()
	m.count("min", r.Min)
	m.count("max", r.Max)
	return m
}

func currentMap(c Current) yamlMap {
	m := newYAMLMap()
	m.text("gpu_type", c.GPUType)
	m.text("mode", string(c.Mode))
	m.text("placement", c.Placement.String())
	m.count("ps", c.PS)
	m.number("local_batch", c.LocalBatch)
	m.count("accum_steps", c.AccumSteps)
	for _, name := range LayoutNames() {
		if v := c.Get(name); v != "1" && v != "none" {
			m.put(name, valuesNode([]string{v}).Content[0])
		}
	}
	m.text("nodes", hostlist.Compress(c.Nodes))
	return m
}

func needMap(n Need) yamlMap {
	m := newYAMLMap()
	m.number("cpus", n.CPUs)
	m.quantity("memory", n.Memory)
	return m
}

func templateMap(t Template) yamlMap {
	m := newYAMLMap()
	m.text("image", t.Image)
	m.texts("command", t.Command)
	m.textMap("env", t.Env)
	m.text("namespace", t.Namespace)
	m.text("partition", t.Partition)
	m.text("account", t.Account)
	m.text("time_limit", t.TimeLimit)
	m.put("pod", treeNode(t.Pod))
	return m
}
