package report

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strings"

	"knee/allocate/simulate"
	"knee/data"
	"knee/fit"
)

// Inputs is what was read, by kind.
type Inputs struct {
	Measurements []data.Measurement
	Curves       []data.CurvePoint
	Models       []*fit.Model
	Plans        []*data.Plan
	Cluster      *data.Cluster // nil if none was given
	Studies      []*data.Study
	Tables       []Results // of simulations and search benchmarks
	Used         []simulate.Used
	Files        []data.Input // every file with its hash, in the order given
	Warnings     []string
	PricePerHour map[string]float64 // US$ per worker-hour by GPU type; may be nil
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

// Read adds a file to the inputs. Its kind is recognised by its contents: the keys
// of JSON and YAML, the columns of CSV. It fails if it is of no known kind, and as
// the reader of its kind does.
func (in *Inputs) Read(path string) error {
	content, err := data.ReadFile(path)
	if err != nil {
		return err
	}
	sum := sha256.Sum256(content)
	in.Files = append(in.Files, data.Input{Path: path, SHA256: hex.EncodeToString(sum[:])})
	var names []string
	for _, k := range kinds() {
		if k.is(content) {
			return k.read(in, content, path)
		}
		names = append(names, k.name)
	}
	found := "an empty file"
	if first, _, _ := strings.Cut(strings.TrimSpace(string(content)), "\n"); first != "" {
		found = fmt.Sprintf("%.60q", first)
	}
	return &data.InputError{Source: data.Source{File: path, Line: 1}, Found: found,
		Want: "one of: " + strings.Join(names, ", ")}
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
		{"a plan (plan.json)", jsonWith("objective", "jobs", "utilization"), reads(data.ReadPlan, func(in *Inputs, p *data.Plan) { in.Plans = append(in.Plans, p) })},
		{"a model (model.json)", jsonWith("speed"), reads(fit.DecodeModel, func(in *Inputs, m *fit.Model) { in.Models = append(in.Models, m) })},
		{"measurements (CSV with step_time_s)", csvWith("step_time_s"), warned(data.ReadMeasurements, func(in *Inputs, ms []data.Measurement) { in.Measurements = append(in.Measurements, ms...) })},
		{"a simulation (CSV of knee simulate)", csvWith("policy", "jct_mean_s"), readResults("simulation")},
		{"simulated jobs (CSV of knee simulate --jobs-out)", csvWith("policy", "job", "submit_s", "jct_s"), readResults("jobs")},
		{"GPUs in use (CSV of knee simulate --usage-out)", csvWith("policy", "gpus_used", "time_s"), reads(simulate.ReadUsage, func(in *Inputs, u []simulate.Used) { in.Used = append(in.Used, u...) })},
		{"a comparison of searches (CSV of knee bench search)", csvWith("method", "evals_to_5pct"), readResults("search")},
		{"a training curve (CSV with loss, metric or grad_sqr)", csvWithAny("loss", "metric", "grad_sqr"), warned(data.ReadCurve, func(in *Inputs, c []data.CurvePoint) { in.Curves = append(in.Curves, c...) })},
		{"a cluster (cluster.yaml)", yamlWith("nodes:"), (*Inputs).readCluster},
		{"a study (study.yaml)", yamlWith("job:"), reads(data.ReadStudy, func(in *Inputs, s *data.Study) { in.Studies = append(in.Studies, s) })},
	}
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

// reads joins the reader of a package with what to do with its result.
func reads[T any](read func(io.Reader, string) (T, error), keep func(*Inputs, T)) func(*Inputs, []byte, string) error {
	return warned(func(r io.Reader, path string) (T, []string, error) {
		v, err := read(r, path)
		return v, nil, err
	}, keep)
}

// warned is reads for readers that warn.
func warned[T any](read func(io.Reader, string) (T, []string, error), keep func(*Inputs, T)) func(*Inputs, []byte, string) error {
	return func(in *Inputs, content []byte, path string) error {
		v, warnings, err := read(bytes.NewReader(content), path)
		in.Warnings = append(in.Warnings, warnings...)
		if err == nil {
			keep(in, v)
		}
		return err
	}
}

func (in *Inputs) readCluster(content []byte, path string) error {
	if in.Cluster != nil {
		return &data.InputError{Source: data.Source{File: path}, Found: "a second cluster", Want: "one"}
	}
	var err error
	in.Cluster, err = data.ReadCluster(bytes.NewReader(content), path)
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
