package queue

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"path"
	"strings"
	"time"

	"knee/data"
	"knee/operate/check"

	"github.com/dustin/go-humanize/english"
)

// Row is a job of the queue with its model, progress and forecast.
type Row struct {
	Job
	Model    string        `json:"model,omitempty"`
	Step     float64       `json:"step,omitempty"`           // the last in its log
	StepTime float64       `json:"step_time_s,omitempty"`    // s, measured from its log; 0: not measured
	StepSE   float64       `json:"step_time_se_s,omitempty"` // standard error, s
	Finish   data.Estimate `json:"finish_s,omitzero"`        // s from now, if it stays as it is
	Fixed    string        `json:"fixed,omitempty"`          // why no plan changes it
	Entry    *data.Job     `json:"-"`                        // of jobs.yaml; nil for a job that neither runs nor can be planned
	Rule     *data.JobRule `json:"-"`                        // nil if none matches it

	Measured data.Measurement `json:"-"` // since the last look, on its present nodes; StepTime 0: not measured
	Steps    []check.Step     `json:"-"` // of single workers, if its log has their ranks
	Reading  *Reading         `json:"-"` // nil if its log was not read
}

// View converts the jobs of a queue to those of jobs.yaml.
type View struct {
	Rules []data.JobRule
	// Movable returns why a job may not be changed, empty if it may. nil: every
	// job that its scheduler can change.
	Movable func(Job) string
	// Watched reports whether to read the log of a job that has a rule and that no
	// plan changes. nil: no.
	Watched func(Job) bool
	// Model returns the path of the model of a job that has a rule, empty if there
	// is none. nil: the model of the rule.
	Model func(*Row) string
	// Readings, by job id, are those of the last look; Rows updates them. nil: logs
	// are read from the beginning.
	Readings map[string]*Reading
	Now      time.Time
}

// Rows describes every job of a snapshot. A job that has a model and may be
// changed is planned; any other that has nodes is a fixed occupant of them. The
// warnings count the logs that could not be read and the waiting jobs left out.
func (v View) Rows(ctx context.Context, s Scheduler, snap *Snapshot) (rows []Row, warnings []string) {
	names := uniqueNames(snap.Jobs)
	waiting := 0
	var silent []string
	for i, j := range snap.Jobs {
		row := Row{Job: j, Fixed: v.fixed(j), Rule: RuleFor(v.Rules, j)}
		if row.Rule != nil && (row.Fixed == "" || v.Watched != nil && v.Watched(j)) {
			if err := v.observe(ctx, s, &row); err != nil {
				silent = append(silent, fmt.Sprintf("%s: %v", names[i], err))
			}
			if row.Model = row.Rule.Model; v.Model != nil {
				row.Model = v.Model(&row)
			}
		}
		switch {
		case row.Fixed != "":
			row.Model = ""
		case row.Rule == nil:
			row.Fixed = "no rule gives it a model"
		case row.Model == "":
			row.Fixed = "its rule names no model, and it was not measured yet"
		}
		entry := entryOf(names[i], j)
		switch {
		case row.Model != "":
			v.fill(&entry, row)
			row.Entry = &entry
		case len(j.Nodes) > 0:
			row.Entry = &entry
		default:
			waiting++
		}
		rows = append(rows, row)
	}
	if n := len(silent); n > 0 {
		warnings = append(warnings, fmt.Sprintf("no steps in the logs of %s, so their work counts as not begun; set log or metrics in their rule. The first, %s", english.Plural(n, "job", ""), silent[0]))
	}
	if waiting > 0 {
		warnings = append(warnings, fmt.Sprintf("left to the scheduler: %s without a model, or that cannot be changed", english.Plural(waiting, "waiting job", "")))
	}
	return rows, warnings
}

// fixed returns why a job may not be changed, empty if it may.
func (v View) fixed(j Job) string {
	switch {
	case j.Fixed != "":
		return j.Fixed
	case j.Held && !j.HeldByUs:
		return "it is held"
	case j.State == Stopping && !j.HeldByUs:
		return "it is ending"
	case v.Movable != nil:
		return v.Movable(j)
	}
	return ""
}

// File returns jobs.yaml of rows, with the given tenants and the quotas of the scheduler.
func File(rows []Row, given []data.Tenant, snap *Snapshot) *data.JobsFile {
	f := &data.JobsFile{Tenants: tenants(rows, given, snap)}
	for _, r := range rows {
		if r.Entry != nil {
			f.Jobs = append(f.Jobs, *r.Entry)
		}
	}
	return f
}

// entryOf is the entry of a job in jobs.yaml, without its model.
func entryOf(name string, j Job) data.Job {
	out := data.Job{Name: name, ID: j.ID, Namespace: j.Namespace, User: j.User, Tenant: tenantOf(j), Submitted: j.Submitted.UTC(),
		Requested: j.Requested, Priority: j.Priority, Weight: 1}
	if len(j.Nodes) > 0 {
		out.Current = data.Running(data.Config{GPUType: cmp.Or(j.GPUType, "gpu")}, j.Nodes)
	}
	return out
}

func tenantOf(j Job) string { return cmp.Or(j.Account, j.Namespace, j.User) }

// Usable lists the nodes of a cluster on which a job can run, nil if it can on all, or on
// none: then it is planned, and the plan refused with the reason.
func Usable(c *data.Cluster, can func(node string) bool) (names []string) {
	for _, n := range c.Nodes {
		if can(n.Name) {
			names = append(names, n.Name)
		}
	}
	if len(names) == len(c.Nodes) {
		return nil
	}
	return names
}

// fill adds the settings of the rule, and the remaining work by the log.
func (v View) fill(out *data.Job, row Row) {
	j, rule := row.Job, row.Rule
	out.Model, out.Workers, out.GPUTypes, out.Batch = row.Model, rule.Workers, rule.GPUTypes, rule.Batch
	if !j.Resizable {
		out.Workers = data.IntRange{Min: max(1, j.Workers), Max: max(1, j.Workers)}
	}
	if j.Most > 0 && (out.Workers.Max == 0 || j.Most < out.Workers.Max) {
		out.Workers.Max = max(j.Most, out.Workers.Min)
	}
	if len(j.GPUTypes) > 0 {
		out.GPUTypes = j.GPUTypes
	}
	out.Nodes = j.Usable
	if rule.Weight > 0 {
		out.Weight = rule.Weight
	}
	out.Resources, out.RestartSeconds, out.RestartGiven = rule.Resources, rule.RestartSeconds, rule.RestartGiven
	out.Remaining = rule.Remaining
	left := func(total, done float64) float64 { return math.Max(total-done, math.Min(1, total)) }
	switch r := &out.Remaining; {
	case r.Steps > 0:
		r.Steps = left(r.Steps, row.Step)
	case r.Seconds > 0 && out.Current != nil && !j.Started.IsZero():
		r.Seconds = left(r.Seconds, max(0, v.Now.Sub(j.Started).Seconds()))
	}
	if c := out.Current; c != nil && rule.Batch.Initial > 0 && !rule.Batch.Adapt {
		c.LocalBatch = rule.Batch.Initial / float64(c.Placement.Workers())
	}
}

// uniqueNames gives each job a unique name: that of the scheduler, with namespace or id
// if several have it, and the id alone if the name cannot be written.
func uniqueNames(jobs []Job) []string {
	forms := []func(Job) string{
		func(j Job) string { return j.Name },
		func(j Job) string { return j.Namespace + "/" + j.Name },
		func(j Job) string { return j.Name + "@" + j.ID },
	}
	out := make([]string, len(jobs))
	used := map[string]bool{}
	for _, form := range forms {
		count := map[string]int{}
		for _, j := range jobs {
			count[form(j)]++
		}
		for i, j := range jobs {
			name := form(j)
			odd := j.Name == "" || strings.HasPrefix(j.Name, "@") || strings.HasPrefix(name, "/") || data.Visible(name, len(name)) != name
			if out[i] == "" && !odd && count[name] == 1 && !used[name] {
				out[i], used[name] = name, true
			}
		}
	}
	for i, j := range jobs {
		out[i] = cmp.Or(out[i], "@"+j.ID)
	}
	return out
}

// RuleFor returns the first rule that a job matches, nil if there is none.
func RuleFor(rules []data.JobRule, j Job) *data.JobRule {
	for i := range rules {
		if Matches(rules[i].Match, j) {
			return &rules[i]
		}
	}
	return nil
}

// Matches reports whether a job matches all patterns and labels of m.
func Matches(m data.Match, j Job) bool {
	for _, f := range [][2]string{{m.Name, j.Name}, {m.Namespace, j.Namespace}, {m.User, j.User}, {m.Account, j.Account},
		{m.Partition, j.Partition}, {m.Queue, j.Queue}, {m.Kind, j.Kind}} {
		if ok, err := path.Match(f[0], f[1]); f[0] != "" && (!ok || err != nil) {
			return false
		}
	}
	for k, v := range m.Labels {
		if has, ok := j.Labels[k]; !ok || has != v {
			return false
		}
	}
	return true
}
