package data

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Job is an entry of jobs.yaml: a training job to be allocated.
type Job struct {
	Name           string        `yaml:"name,required" want:"the name of the job"`
	ID             string        `yaml:"id"`                              // the scheduler's: a job id of Slurm, a uid of Kubernetes; empty: not known
	Namespace      string        `yaml:"namespace"`                       // of Kubernetes; empty: not said
	User           string        `yaml:"user"`                            // who submitted it; empty: not said
	Model          string        `yaml:"model"`                           // path of its model.json, relative to the jobs file; empty: it keeps its allocation
	Tenant         string        `yaml:"tenant"`                          // its owner; empty: not known
	Submitted      time.Time     `yaml:"submitted"`                       // zero: not said
	Requested      int           `yaml:"requested" min:"1"`               // workers its owner requested; 0: not known
	Priority       float64       `yaml:"priority" is:"any" of:"a number"` // the scheduler's, which no policy uses; 0 if not given
	Remaining      Remaining     `yaml:"remaining"`                       // zero for a job without a model
	Workers        IntRange      `yaml:"workers"`
	LogicalWorkers int           `yaml:"logical_workers" min:"1"`  // fixed number of logical workers; actual workers must divide it; 0: as many as it has
	Opportunistic  bool          `yaml:"opportunistic"`            // it runs on slots that other jobs leave free
	PS             IntRange      `yaml:"ps"`                       // zero value: what the measured modes allow
	Modes          []Mode        `yaml:"modes" is:"modes"`         // empty: every mode the model knows
	GPUTypes       []string      `yaml:"gpu_types" is:"gpu types"` // empty: every type the model knows
	Nodes          []string      `yaml:"nodes" is:"hosts"`         // names of those it may use; empty: all
	Batch          Batch         `yaml:"batch"`
	Weight         float64       `yaml:"weight" is:"positive" of:"a number"`                // 1 if not given
	Deadline       time.Duration `yaml:"deadline" is:"time left"`                           // from now; 0 means none
	DeadlineAt     time.Time     `yaml:"deadline" is:"point in time"`                       // the same as a point in time; at most one of the two is set
	History        *History      `yaml:"history"`                                           // nil: not said
	Current        *Current      `yaml:"current"`                                           // nil: not running
	RestartSeconds float64       `yaml:"restart_seconds" is:"seconds" given:"RestartGiven"` // progress lost when its allocation changes
	RestartGiven   bool          // RestartSeconds was given, even if 0
	Resources      Resources     `yaml:"resources"`
	Template       Template      `yaml:"template,block"`
	Source         Source
}

// JobsFile is the contents of jobs.yaml.
type JobsFile struct {
	Tenants []Tenant `yaml:"tenants" want:"a list of tenants"`
	Jobs    []Job    `yaml:"jobs,required,keep,block" want:"a list of jobs"`
}

// AllTypes is the name of all GPU types in a quota; "cpu" is none of them.
const AllTypes = "all"

// Limit is a quota, and the GPU type or AllTypes that it is of.
type Limit struct {
	Of   string
	Most int
}

// Limits are the quotas of a tenant that hold for a GPU type.
func (t *Tenant) Limits(gpuType string) (all []Limit) {
	for _, of := range []string{gpuType, AllTypes} {
		if most, limited := t.Quota[of]; limited && (of == gpuType || gpuType != "cpu") {
			all = append(all, Limit{of, most})
		}
	}
	return all
}

// Tenant is an entry of tenants: the owner of jobs.
type Tenant struct {
	Name   string         `yaml:"name,required" want:"the name of the tenant"`
	Weight float64        `yaml:"weight" is:"positive" of:"a number"` // share relative to other tenants of the same parent; 1 if not given
	Quota  map[string]int `yaml:"quota"`                              // most worker slots by GPU type, or of [AllTypes] together
	Parent string         `yaml:"parent"`                             // empty: none
	Source Source
}

// History is a job's record in a scheduler's accounting; nil: not known.
type History struct {
	GPUSeconds *float64           `yaml:"gpu_seconds" is:"not negative" of:"GPU-seconds"`           // attained service: worker slots held × seconds
	Seconds    *float64           `yaml:"seconds" is:"seconds"`                                     // in which it held workers
	Progress   *float64           `yaml:"progress" is:"share" of:"a share of the work from 0 to 1"` // share of the work done, 0 to 1
	Restarts   *int               `yaml:"restarts"`                                                 // changes of allocation
	ByType     map[string]float64 `yaml:"by_type" is:"not negative" of:"GPU-seconds"`               // GPU-seconds by GPU type
}

// Due is the seconds to the deadline: 0 without one, at least 1 for one that has passed.
func (j *Job) Due(now time.Time) float64 {
	if j.DeadlineAt.IsZero() {
		return j.Deadline.Seconds()
	}
	return max(j.DeadlineAt.Sub(now).Seconds(), 1)
}

// States reports whether the job gives a field such as "history.gpu_seconds".
func (j *Job) States(field string) bool {
	h := cmp.Or(j.History, &History{})
	said, ok := map[string]bool{
		"tenant": j.Tenant != "", "submitted": !j.Submitted.IsZero(), "requested": j.Requested > 0,
		"remaining": j.Remaining != Remaining{}, "history.gpu_seconds": h.GPUSeconds != nil, "history.seconds": h.Seconds != nil,
		"history.progress": h.Progress != nil, "history.restarts": h.Restarts != nil, "history.by_type": h.ByType != nil || h.GPUSeconds != nil && *h.GPUSeconds == 0,
	}[field]
	if !ok {
		panic("data: a job has no field " + field)
	}
	return said
}

// IntRange is an inclusive range; zero means not given.
type IntRange struct {
	Min int `yaml:"min" json:"min"`
	Max int `yaml:"max" min:"1" json:"max"`
}

func (r *IntRange) validate(o *object) {
	if r.Max > 0 && r.Max < r.Min {
		o.fail("max", strconv.Itoa(r.Max), fmt.Sprintf("at least min, %d", r.Min))
	}
}

// Remaining is the work left, given in exactly one of four ways.
type Remaining struct {
	Steps      float64 `yaml:"steps" is:"positive" of:"optimizer steps"`           // at the initial batch
	TargetLoss float64 `yaml:"target_loss" is:"any" of:"a loss" given:"HasTarget"` // with HasTarget
	HasTarget  bool
	Epochs     float64 `yaml:"epochs" is:"positive" of:"epochs"` // with Dataset
	Dataset    float64 `yaml:"dataset" is:"positive" of:"samples per epoch"`
	Seconds    float64 `yaml:"seconds" is:"positive seconds"` // at its current (else its minimum) allocation
}

// check fails unless the work left is given in exactly one way.
func (r Remaining) check(job *object) {
	const want = "one of {steps: …}, {target_loss: …}, {epochs: …, dataset: …}, {seconds: …}"
	var ways []string
	for _, way := range []struct {
		name string
		said bool
	}{{"steps", r.Steps > 0}, {"target_loss", r.HasTarget}, {"epochs", r.Epochs > 0}, {"seconds", r.Seconds > 0}} {
		if way.said {
			ways = append(ways, way.name)
		}
	}
	switch {
	case len(ways) == 0:
		job.fail("remaining", "no amount of work", want)
	case len(ways) > 1:
		job.fail("remaining", strings.Join(ways, " and "), want)
	case (r.Epochs > 0) != (r.Dataset > 0):
		job.fail("remaining", "only one of epochs and dataset", "both; dataset is the number of samples of an epoch")
	}
}

// Current is the present allocation of a job.
type Current struct {
	GPUType    string    `yaml:"gpu_type,required" is:"gpu type" want:"the GPU type it runs on"`
	Mode       Mode      `yaml:"mode" is:"any text"`
	Placement  Placement `yaml:"placement,required" is:"placement" want:"workers per node, such as \"4-4-2\""`
	PS         int       `yaml:"ps"`
	LocalBatch float64   `yaml:"local_batch" is:"samples"`
	AccumSteps int       `yaml:"accum_steps"`
	Nodes      []string  `yaml:"nodes" is:"hosts"`    // node names, if known, parallel to Placement
	PSNodes    []string  `yaml:"ps_nodes" is:"hosts"` // of each parameter server, if known
	Layout
}

// Config is the configuration that the job runs in.
func (c *Current) Config() Config {
	return Config{
		GPUType: c.GPUType, Mode: cmp.Or(c.Mode, AllReduce), Workers: c.Placement.Workers(), PS: c.PS,
		Placement: c.Placement, Nodes: len(c.Placement),
		LocalBatch: c.LocalBatch, AccumSteps: c.AccumSteps, Layout: c.Layout,
	}
}

// Shares are the workers on each node, nil if the job does not run or its nodes are not known.
func (c *Current) Shares() (out []NodeShare) {
	if c == nil || len(c.Nodes) != len(c.Placement) {
		return nil
	}
	for i, n := range c.Nodes {
		out = append(out, NodeShare{Node: n, Workers: c.Placement[i]})
	}
	return out
}

// Parts are the [Current.Shares] with the parameter servers, if their nodes are known.
func (c *Current) Parts() []NodeShare {
	out := c.Shares()
	if out == nil {
		return nil
	}
	for _, n := range c.PSNodes {
		at := slices.IndexFunc(out, func(s NodeShare) bool { return s.Node == n })
		if at < 0 {
			at, out = len(out), append(out, NodeShare{Node: n})
		}
		out[at].PS++
	}
	return out
}

// Running is the present allocation of a job that runs in a configuration on nodes.
func Running(c Config, nodes []NodeShare) *Current {
	cur := &Current{GPUType: c.GPUType, Mode: c.ModeOrDefault(), PS: c.PS, LocalBatch: c.LocalBatch, AccumSteps: c.AccumSteps, Layout: c.Layout}
	for _, s := range nodes {
		if s.Workers > 0 {
			cur.Placement, cur.Nodes = append(cur.Placement, s.Workers), append(cur.Nodes, s.Node)
		}
		if c.PS > 0 {
			cur.PSNodes = append(cur.PSNodes, slices.Repeat([]string{s.Node}, s.PS)...)
		}
	}
	return cur
}

func (c *Current) validate(o *object) {
	o.distinct("nodes", c.Nodes)
	mode, key, found, want := checkMode(string(c.Mode), c.PS)
	if c.Mode = mode; want != "" {
		o.fail(key, found, want)
	}
	if column, found, want := c.Layout.Check(c.Placement.Workers(), c.Mode, Architecture{}); want != "" {
		o.fail(strings.Replace(column, "workers", "placement", 1), found, want)
	}
	if len(c.Nodes) > 0 && len(c.Nodes) != len(c.Placement) {
		o.fail("nodes", fmt.Sprintf("%d nodes", len(c.Nodes)), fmt.Sprintf("%d, one for each number of the placement", len(c.Placement)))
	}
	if len(c.PSNodes) > 0 && len(c.PSNodes) != c.PS {
		o.fail("ps_nodes", fmt.Sprintf("%d nodes", len(c.PSNodes)), fmt.Sprintf("%d, one for each parameter server", c.PS))
	}
}

// Resources is what one worker and one parameter server need besides the GPU.
type Resources struct {
	Worker Need `yaml:"worker"`
	PS     Need `yaml:"ps"`
}

// Need is CPU cores and bytes of memory; zero means nothing is reserved.
type Need struct {
	CPUs   float64 `yaml:"cpus" is:"not negative" of:"cores"`
	Memory int64   `yaml:"memory"`
}

// Template is the rest of a job's manifest or script, for export.
type Template struct {
	Image     string            `yaml:"image" json:"image,omitempty"`
	Command   []string          `yaml:"command" json:"command,omitempty" want:"a list of arguments such as [python, train.py]"`
	Env       map[string]string `yaml:"env" json:"env,omitempty" want:"the name of an environment variable"`
	Namespace string            `yaml:"namespace" json:"namespace,omitempty"`
	Partition string            `yaml:"partition" json:"partition,omitempty"`
	Account   string            `yaml:"account" json:"account,omitempty"`
	TimeLimit string            `yaml:"time_limit" json:"time_limit,omitempty"`
	Pod       map[string]any    `yaml:"pod" json:"pod,omitempty"` // Kubernetes pod template to fill in; nil for none
}

// IsZero reports whether nothing is given.
func (t Template) IsZero() bool {
	return t.Image+t.Namespace+t.Partition+t.Account+t.TimeLimit == "" && len(t.Command) == 0 && len(t.Env) == 0 && len(t.Pod) == 0
}

// ReadJobs reads jobs.yaml, perhaps an empty list. Paths stay relative to the file.
func ReadJobs(r io.Reader, name string) (*JobsFile, error) {
	return readYAML(r, name, &JobsFile{})
}

// WriteJobs writes jobs.yaml. Jobs that [ReadJobs] would refuse are an error.
func WriteJobs(w io.Writer, f *JobsFile) error {
	return writeYAML(w, "jobs", f, ReadJobs)
}

func (f *JobsFile) validate(o *object) {
	seen := map[string]int{}
	for i, j := range f.Jobs {
		if line, dup := seen[j.Name]; dup {
			o.y.fail(j.Source.Line, fmt.Sprintf("jobs[%d].name", i), quote(j.Name)+fmt.Sprintf(", which line %d names too", line), "each job once")
		}
		seen[j.Name] = j.Source.Line
	}
	checkTenants(o, f.Tenants)
}

// checkTenants fails for a duplicate tenant, an unknown parent or a cycle.
func checkTenants(o *object, tenants []Tenant) {
	lines := o.items("tenants", "a list of tenants")
	at := map[string]int{}
	for i, t := range tenants {
		if _, dup := at[t.Name]; dup {
			o.y.fail(lines[i].Line, fmt.Sprintf("tenants[%d].name", i), quote(t.Name)+" a second time", "each tenant once")
		}
		at[t.Name] = i
	}
	for i := range tenants {
		up, found, want := i, "a circle of parents", "a tenant without a parent above it"
		for range len(tenants) + 1 { // a longer chain of parents is a cycle
			if tenants[up].Parent == "" {
				want = ""
				break
			}
			next, known := at[tenants[up].Parent]
			if !known {
				found, want = quote(tenants[up].Parent), "the name of a tenant in the list"
				break
			}
			up = next
		}
		if want != "" {
			o.y.fail(lines[i].Line, fmt.Sprintf("tenants[%d].parent", i), found, want)
		}
	}
}

func (t *Tenant) defaults() { t.Weight = 1 }

func (j *Job) defaults() { j.Weight = 1 }

func (j *Job) validate(o *object) {
	o.distinct("nodes", j.Nodes)
	if j.Model != "" || o.has("remaining") {
		j.Remaining.check(o)
	}
	if j.Model == "" && o.get("current") == nil {
		o.fail("model", "nothing", "the path of its model, as knee fit writes it, unless the job runs (current) and stays as it is")
	}
}
