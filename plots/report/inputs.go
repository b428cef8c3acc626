package report

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"knee/allocate/simulate"
	"knee/data"
	"knee/fit"
)

// Inputs is what was read, told apart.
type Inputs struct {
	Measurements []data.Measurement
	Curves       []data.CurvePoint
	Models       []*fit.Model
	Plans        []*data.Plan
	Cluster      *data.Cluster // nil if none was given
	Jobs         []data.Job    // that share the cluster
	Studies      []*data.Study
	Tables       []Results // of simulations and search benchmarks
	Used         []simulate.Used
	Files        []data.Input // every file with its hash, in the order given
	Warnings     []string
	PricePerHour map[string]float64 // US$ per worker-hour by GPU type; may be nil
	Risk         float64            // that plans were made with, see allocate.Problem
}

// Results is a table of results that another command printed as CSV.
type Results struct {
	File    string
	Kind    string // one of the kinds below
	Columns []string
	Rows    [][]string
	// Replayed is what the rows say, of simulated jobs.
	Replayed []simulate.Replayed
}

// Read adds a file to the inputs. What it is, its contents tell: JSON that is
// a plan or a model, YAML that is a cluster, CSV by the names of its columns.
// It fails if it is none of these, and as the reader of its kind does.
func (in *Inputs) Read(path string) error {
	content, err := data.ReadFile(path)
	if err != nil {
		return err
	}
	sum := sha256.Sum256(content)
	in.Files = append(in.Files, data.Input{Path: path, SHA256: hex.EncodeToString(sum[:])})
	for _, k := range kinds() {
		if k.is(content) {
			return k.read(in, content, path)
		}
	}
	found := "an empty file"
	if first, _, _ := strings.Cut(strings.TrimSpace(string(content)), "\n"); first != "" {
		found = fmt.Sprintf("%.60q", first)
	}
	return &data.InputError{Source: data.Source{File: path, Line: 1}, Found: found,
		Want: "one of: " + strings.Join(kindNames(), ", ")}
}

// kind is one kind of input: how its contents are recognised, and read.
type kind struct {
	name string
	is   func(content []byte) bool
	read func(in *Inputs, content []byte, path string) error
}

// kinds is the registry: one line for each kind of input.
func kinds() []kind {
	return []kind{
		{"a plan (plan.json)", jsonWith("objective", "jobs", "utilization"), (*Inputs).readPlan},
		{"a model (model.json)", jsonWith("speed"), (*Inputs).readModel},
		{"measurements (CSV with step_time_s)", csvWith("step_time_s"), (*Inputs).readMeasurements},
		{"a simulation (CSV of knee simulate)", csvWith("policy", "jct_mean_s"), readResults("simulation")},
		{"simulated jobs (CSV of knee simulate --jobs-out)", csvWith("policy", "job", "submit_s", "jct_s"), readResults("jobs")},
		{"GPUs in use (CSV of knee simulate --usage-out)", csvWith("policy", "gpus_used", "time_s"), (*Inputs).readUsage},
		{"a comparison of searches (CSV of knee bench search)", csvWith("method", "evals_to_5pct"), readResults("search")},
		{"a training curve (CSV with loss, metric or grad_sqr)", csvWithAny("loss", "metric", "grad_sqr"), (*Inputs).readCurve},
		{"a cluster (cluster.yaml)", yamlWith("nodes:"), (*Inputs).readCluster},
		{"jobs (jobs.yaml)", yamlWith("jobs:"), (*Inputs).readJobs},
		{"a study (study.yaml)", yamlWith("job:"), (*Inputs).readStudy},
	}
}

func kindNames() []string {
	var names []string
	for _, k := range kinds() {
		names = append(names, k.name)
	}
	return names
}

// jsonWith recognises a JSON object that has all of the keys.
func jsonWith(keys ...string) func([]byte) bool {
	return func(content []byte) bool {
		var o map[string]json.RawMessage
		if json.Unmarshal(bytes.TrimPrefix(content, []byte("\ufeff")), &o) != nil {
			return false
		}
		return !slices.ContainsFunc(keys, func(k string) bool { _, ok := o[k]; return !ok })
	}
}

// header returns the names in the first row of a CSV, nil if there is none.
func header(content []byte) []string {
	t, err := data.NewTable(bytes.NewReader(content), "")
	if err != nil {
		return nil
	}
	return t.Header
}

// csvWith recognises a CSV that has all of the columns.
func csvWith(names ...string) func([]byte) bool {
	return func(content []byte) bool {
		h := header(content)
		return !slices.ContainsFunc(names, func(n string) bool { return !slices.Contains(h, n) })
	}
}

// csvWithAny recognises a CSV that has one of the columns.
func csvWithAny(names ...string) func([]byte) bool {
	return func(content []byte) bool {
		h := header(content)
		return slices.ContainsFunc(names, func(n string) bool { return slices.Contains(h, n) })
	}
}

// yamlWith recognises YAML that has the top-level key.
func yamlWith(key string) func([]byte) bool {
	return func(content []byte) bool {
		return bytes.HasPrefix(content, []byte(key)) || bytes.Contains(content, []byte("\n"+key))
	}
}

func (in *Inputs) readPlan(content []byte, path string) error {
	p, err := data.ReadPlan(bytes.NewReader(content), path)
	if err == nil {
		in.Plans = append(in.Plans, p)
	}
	return err
}

func (in *Inputs) readModel(content []byte, path string) error {
	m, err := fit.DecodeModel(bytes.NewReader(content), path)
	if err == nil {
		in.Models = append(in.Models, m)
	}
	return err
}

func (in *Inputs) readMeasurements(content []byte, path string) error {
	ms, warnings, err := data.ReadMeasurements(bytes.NewReader(content), path)
	in.Measurements = append(in.Measurements, ms...)
	in.Warnings = append(in.Warnings, warnings...)
	return err
}

func (in *Inputs) readCurve(content []byte, path string) error {
	points, warnings, err := data.ReadCurve(bytes.NewReader(content), path)
	in.Curves = append(in.Curves, points...)
	in.Warnings = append(in.Warnings, warnings...)
	return err
}

func (in *Inputs) readCluster(content []byte, path string) error {
	c, err := data.ReadCluster(bytes.NewReader(content), path)
	if err == nil && in.Cluster != nil {
		return &data.InputError{Source: data.Source{File: path}, Found: "a second cluster", Want: "one"}
	}
	in.Cluster = c
	return err
}

func (in *Inputs) readJobs(content []byte, path string) error {
	file, err := data.ReadJobs(bytes.NewReader(content), path)
	if err == nil {
		in.Jobs = append(in.Jobs, file.Jobs...)
	}
	return err
}

func (in *Inputs) readStudy(content []byte, path string) error {
	s, err := data.ReadStudy(bytes.NewReader(content), path)
	if err == nil {
		in.Studies = append(in.Studies, s)
	}
	return err
}

func (in *Inputs) readUsage(content []byte, path string) error {
	runs, err := simulate.ReadUsage(bytes.NewReader(content), path)
	in.Used = append(in.Used, runs...)
	return err
}

// readResults reads a table as it is.
func readResults(kind string) func(*Inputs, []byte, string) error {
	return func(in *Inputs, content []byte, path string) error {
		t, err := data.ReadRecords(bytes.NewReader(content), path)
		if err != nil {
			return err
		}
		r := Results{File: path, Kind: kind, Columns: t.Header, Rows: t.Rows}
		if kind == "jobs" {
			r.Replayed, err = simulate.ReadOutcomes(bytes.NewReader(content), path)
		}
		in.Tables = append(in.Tables, r)
		return err
	}
}
