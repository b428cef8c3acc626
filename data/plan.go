package data

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"math"
	"slices"
	"strings"
)

// PlanVersion is the version written, and the newest that can be read.
const PlanVersion = 1

// Action is what a plan does to a job.
type Action string

// The actions of a plan, relative to what runs now.
const (
	Keep   Action = "keep"
	Start  Action = "start"
	Grow   Action = "grow"
	Shrink Action = "shrink"
	Move   Action = "move"  // same size, other nodes, GPU type, mode or ps
	Pause  Action = "pause" // it runs, and gets nothing in this plan
	Wait   Action = "wait"  // it does not run, and gets nothing in this plan
)

// Runs reports whether a job with the action runs by the plan.
func (a Action) Runs() bool { return a != Pause && a != Wait }

// Plan is the contents of plan.json, which allocate writes and export reads.
type Plan struct {
	Version   int     `json:"version"`
	Objective string  `json:"objective"`
	Policy    string  `json:"policy"`
	Value     float64 `json:"value"` // of the objective; larger is better
	Bound     float64 `json:"bound"` // upper bound of Value over all plans with these options
	// RunningBound bounds plans that run every job; Bound if not every job fits.
	RunningBound float64      `json:"running_bound"`
	Gap          float64      `json:"gap"` // (b − value) / |b|, b being the running bound if every job runs, else the bound
	Seed         int64        `json:"seed"`
	Inputs       []Input      `json:"inputs"`
	Jobs         []PlannedJob `json:"jobs"`
	Utilization  Utilization  `json:"utilization"`
	Prices       []GPUPrice   `json:"prices,omitempty"`
	Warnings     []string     `json:"warnings"`
	// NodeCPUs are the cores of nodes where jobs need parts of one, for schedulers that give
	// tasks whole ones; not of nodes that do not limit them.
	NodeCPUs map[string]float64 `json:"node_cpus,omitempty"`
}

// Input is a file a plan was made from.
type Input struct {
	Path   string `json:"path"`
	SHA256 string `json:"sha256"`
}

// InputOf is a file of some content.
func InputOf(path string, content []byte) Input {
	return Input{Path: path, SHA256: fmt.Sprintf("%x", sha256.Sum256(content))}
}

// PlannedJob is the allocation of one job.
type PlannedJob struct {
	Name       string      `json:"name"`
	ID         string      `json:"id,omitempty"`  // the scheduler's, if known
	Was        []NodeShare `json:"was,omitempty"` // placement when the plan was made, if known
	Action     Action      `json:"action"`
	GPUType    string      `json:"gpu_type,omitempty"`
	GPUName    string      `json:"gpu_name,omitempty"` // the scheduler's name of the type, if different
	Mode       Mode        `json:"mode,omitempty"`
	Workers    int         `json:"workers"`
	PS         int         `json:"ps"`
	Placement  []NodeShare `json:"placement"`
	LocalBatch float64     `json:"local_batch,omitempty"`
	AccumSteps int         `json:"accum_steps"`
	Layout
	Throughput   Estimate          `json:"throughput"`       // samples/s
	Goodput      Estimate          `json:"goodput"`          // samples/s at initial-batch worth
	Finish       Estimate          `json:"finish_s"`         // seconds from now; zero if it does not run
	Cost         Estimate          `json:"cost_usd"`         // to the end of the job
	Fits         *float64          `json:"p_fits,omitempty"` // probability that it fits in memory; nil if not known
	MarginalGain MarginalGain      `json:"marginal_gain"`
	InitialBatch float64           `json:"initial_batch,omitempty"` // samples; reference of efficiency and learning rate
	Extra        map[string]string `json:"extra,omitempty"`         // knobs of the study, as planned
	Worth        *Worth            `json:"worth,omitempty"`         // nil if it was not planned
	Warnings     []string          `json:"warnings,omitempty"`
	Extrapolated bool              `json:"extrapolated"`        // the speed was predicted outside the measured range
	Unplanned    bool              `json:"unplanned,omitempty"` // it cannot be planned, for Reason
	Reason       string            `json:"reason"`
	Range        IntRange          `json:"workers_range,omitzero"` // workers it may have, for schedulers that can change them during the run
	Resources    PlanNeeds         `json:"resources,omitzero"`
	Template     Template          `json:"template,omitzero"`
}

// Config is the configuration that the job is to run in.
func (j PlannedJob) Config() Config {
	placement := PlacementOf(j.Placement)
	return Config{Job: j.Name, GPUType: j.GPUType, Mode: j.Mode, Workers: j.Workers, PS: j.PS, Placement: placement, Nodes: len(placement),
		LocalBatch: j.LocalBatch, AccumSteps: j.AccumSteps, Layout: j.Layout, Extra: j.Extra}
}

// GPUPrice is the shadow price of a GPU type, in units of Plan.Value.
type GPUPrice struct {
	GPUType string   `json:"gpu_type"`
	PerGPU  float64  `json:"per_gpu"`
	OneMore *float64 `json:"one_more,omitempty"` // gain of solving with one more, if requested
	OneLess *float64 `json:"one_less,omitempty"` // loss of solving with one less
}

// Worth compares a job's value with the price of its GPUs.
type Worth struct {
	Value   float64 `json:"value"`   // of the best option at the prices, minus that of pausing
	Cost    float64 `json:"cost"`    // of that option's GPUs at the prices
	Surplus float64 `json:"surplus"` // Value − Cost; below zero, other jobs gain more from its GPUs
	// Knowing is the expected gain of the plan if the job's speeds were known exactly, if requested.
	Knowing float64 `json:"knowing,omitempty"`
}

// PlanNeeds is Resources in plan.json: cores and bytes.
type PlanNeeds struct {
	WorkerCPUs   float64 `json:"worker_cpus,omitempty"`
	WorkerMemory int64   `json:"worker_memory,omitempty"`
	PSCPUs       float64 `json:"ps_cpus,omitempty"`
	PSMemory     int64   `json:"ps_memory,omitempty"`
}

// Whole reports whether all cores are whole numbers.
func (n PlanNeeds) Whole() bool {
	return n.WorkerCPUs == math.Trunc(n.WorkerCPUs) && n.PSCPUs == math.Trunc(n.PSCPUs)
}

// SameNodes reports whether two lists give every node the same workers.
func SameNodes(a, b []NodeShare) bool {
	count := map[string]int{}
	for _, s := range a {
		count[s.Node] += s.Workers
	}
	for _, s := range b {
		count[s.Node] -= s.Workers
	}
	maps.DeleteFunc(count, func(_ string, difference int) bool { return difference == 0 })
	return len(count) == 0
}

// PlacementOf is the workers per node, without nodes that have only servers.
func PlacementOf(nodes []NodeShare) (p Placement) {
	for _, s := range nodes {
		if s.Workers > 0 {
			p = append(p, s.Workers)
		}
	}
	return p
}

// NodeShare is the workers and servers of a job on one node.
type NodeShare struct {
	Node    string `json:"node"`
	Workers int    `json:"workers"`
	PS      int    `json:"ps"`
}

// MarginalGain is the gain per worker: of the last step of workers, and of the next.
type MarginalGain struct {
	Last float64 `json:"last"`
	Next float64 `json:"next"`
}

// Utilization is the GPUs that a plan uses and those of the cluster.
type Utilization struct {
	GPUsUsed  int `json:"gpus_used"`
	GPUsTotal int `json:"gpus_total"`
}

var wantPlan = fmt.Sprintf("the fields of a plan of version %d", PlanVersion)

// ReadPlan reads plan.json. Errors are *InputError: unknown fields, a newer version, a
// placement that does not add up to the job's workers and servers.
func ReadPlan(r io.Reader, name string) (*Plan, error) {
	text, err := readDocument(r, name, maxDocument)
	if err != nil {
		return nil, err
	}
	text = bytes.TrimPrefix(text, []byte("\ufeff")) // byte order mark
	// The version first: other errors in a newer file would mislead.
	var head struct {
		Version *int            `json:"version"`
		Speed   json.RawMessage `json:"speed"` // a model has it
	}
	if err := json.Unmarshal(text, &head); err != nil {
		return nil, JSONError(Source{File: name}, text, 0, err, wantPlan)
	}
	if head.Speed != nil {
		return nil, &InputError{Source: Source{File: name}, Found: "a model", Want: "a plan, which knee allocate --plan writes"}
	}
	if head.Version == nil {
		return nil, &InputError{Source: Source{File: name, Column: "version"}, Found: "nothing", Want: fmt.Sprintf("the version of the plan, from 1 to %d", PlanVersion)}
	}
	if err := CheckVersion("plan", name, *head.Version, PlanVersion); err != nil {
		return nil, err
	}
	p := &Plan{}
	dec := json.NewDecoder(bytes.NewReader(text))
	dec.DisallowUnknownFields()
	dec.UseNumber() // in pod templates
	if err := dec.Decode(p); err != nil {
		return nil, JSONError(Source{File: name}, text, 0, err, wantPlan)
	}
	if err := checkPlan(p, name); err != nil {
		return nil, err
	}
	return p, nil
}

// WritePlan writes plan.json, indented, with empty lists instead of null. A plan that
// [ReadPlan] would refuse, or with NaN or an infinity, is an error.
func WritePlan(w io.Writer, p *Plan) error {
	out := *p
	out.Version = cmp.Or(out.Version, PlanVersion)
	if err := checkPlan(&out, "plan"); err != nil {
		return fmt.Errorf("write plan: %w", err)
	}
	// Appending to an empty list gives a list, not null.
	out.Inputs, out.Warnings = append([]Input{}, p.Inputs...), append([]string{}, p.Warnings...)
	out.Jobs = append([]PlannedJob{}, p.Jobs...)
	for i := range out.Jobs {
		out.Jobs[i].Placement = append([]NodeShare{}, out.Jobs[i].Placement...)
	}
	enc := json.NewEncoder(w) // which writes all or nothing
	enc.SetEscapeHTML(false)
	enc.SetIndent("", "  ")
	if err := enc.Encode(out); err != nil {
		return fmt.Errorf("write plan: %w", err)
	}
	return nil
}

// Actions lists the actions of a plan in the order they are documented.
func Actions() []Action { return []Action{Keep, Start, Grow, Shrink, Move, Pause, Wait} }

func checkPlan(p *Plan, file string) error {
	if err := CheckVersion("plan", file, p.Version, PlanVersion); err != nil {
		return err
	}
	seen := map[string]bool{}
	for i, j := range p.Jobs {
		found, want, key := checkPlannedJob(j)
		if seen[j.Name] {
			found, want, key = quote(j.Name)+" twice", "each job once", "name"
		}
		seen[j.Name] = true
		if want != "" {
			return &InputError{Source: Source{File: file, Column: fmt.Sprintf("jobs[%d].%s", i, key)}, Found: found, Want: want}
		}
	}
	return nil
}

// checkPlannedJob returns what is wrong with a job, an empty want if nothing.
func checkPlannedJob(j PlannedJob) (found, want, key string) {
	layoutColumn, layoutFound, layoutWant := j.Layout.Check(j.Workers, j.Mode, Architecture{})
	workers, ps := 0, 0
	for _, s := range j.Placement {
		if s.Node == "" || s.Workers < 0 || s.PS < 0 || s.Workers > maxCount || s.PS > maxCount {
			return fmt.Sprintf("node %q with %d workers and %d ps", s.Node, s.Workers, s.PS), "a node with counts ≥ 0", "placement"
		}
		workers += s.Workers
		ps += s.PS
	}
	hint, known := oneOf(string(j.Action), names(Actions()))
	switch {
	case j.Name == "":
		return "nothing", "the name of the job", "name"
	case !known:
		return quote(string(j.Action)) + hint, "one of " + strings.Join(names(Actions()), ", "), "action"
	case j.Mode != "" && !slices.Contains(Modes(), j.Mode):
		return quote(string(j.Mode)), "allreduce, ps-sync or ps-async", "mode"
	case workers != j.Workers:
		return fmt.Sprint(j.Workers), fmt.Sprintf("%d, the workers of the placement", workers), "workers"
	case ps != j.PS:
		return fmt.Sprint(j.PS), fmt.Sprintf("%d, the ps of the placement", ps), "ps"
	case !j.Action.Runs() && (j.Workers > 0 || j.PS > 0):
		return fmt.Sprint(j.Workers), "0, since the job gets nothing", "workers"
	case j.Action.Runs() && j.Workers == 0:
		return "0", "at least 1, since the job runs", "workers"
	case j.LocalBatch < 0:
		return fmt.Sprint(j.LocalBatch), "samples ≥ 0", "local_batch"
	case layoutWant != "":
		return layoutFound, layoutWant, layoutColumn
	case j.AccumSteps < 0:
		return fmt.Sprint(j.AccumSteps), "at least 0", "accum_steps"
	}
	return "", "", ""
}

// JSONError turns an error of package json into an [*InputError] with line and key. at is
// where in text decoding began; want describes the file.
func JSONError(src Source, text []byte, at int, err error, want string) error {
	var syntax *json.SyntaxError
	var typ *json.UnmarshalTypeError
	found := err.Error()
	switch {
	case errors.As(err, &syntax):
		src.Line, want = lineAt(text, int64(at)+syntax.Offset), "valid JSON"
	case errors.As(err, &typ):
		src.Line, src.Column = lineAt(text, int64(at)+typ.Offset), typ.Field
		found, want = "a "+typ.Value, "a value of type "+typ.Type.String()
	default:
		if _, field, unknown := strings.Cut(found, "unknown field "); unknown {
			src.Column, found = strings.Trim(field, `"`), "an unknown field"
			if i := bytes.Index(text[at:], []byte(`"`+src.Column+`"`)); i >= 0 {
				src.Line = lineAt(text, int64(at+i))
			}
		}
	}
	return &InputError{Source: src, Found: found, Want: want}
}

func lineAt(text []byte, offset int64) int {
	return 1 + bytes.Count(text[:min(max(offset, 0), int64(len(text)))], []byte("\n"))
}
