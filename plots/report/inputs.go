package report

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"knee/allocate/simulate"
	"knee/data"
	"knee/fit"
	"knee/internal/list"
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
	Used         []simulate.Replayed
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

// Files returns the file, or those of a folder that may be inputs by their extension;
// of a folder of turns of knee operate those of the last one with a plan.
func Files(path string) []string {
	entries, err := os.ReadDir(path)
	if err != nil {
		return []string{path} // opening it gives the error
	}
	if turns, _ := filepath.Glob(filepath.Join(path, "*", "plan.json")); len(turns) > 0 {
		if _, err := os.Stat(filepath.Join(path, "audit.jsonl")); err == nil {
			return Files(filepath.Dir(slices.Max(turns)))
		}
	}
	var files []string
	for _, e := range entries {
		switch filepath.Ext(strings.TrimSuffix(e.Name(), ".gz")) {
		case ".csv", ".json", ".yaml", ".yml":
			files = append(files, filepath.Join(path, e.Name()))
		}
	}
	return files
}

// Read adds a file, or those of a folder that are of a known kind by their contents: keys
// of JSON and YAML, columns of CSV. It fails if nothing is of a known kind.
func (in *Inputs) Read(path string) error {
	files, before := Files(path), len(in.Files)
	unknown := &data.InputError{Source: data.Source{File: path}, Found: "no file of ours", Want: "a folder with measurements, models, curves or plans"}
	for _, file := range files {
		content, err := data.ReadFile(file)
		if err != nil {
			return err
		}
		if k := slices.IndexFunc(kinds(), func(k kind) bool { return k.is(content) }); k >= 0 {
			in.Files = append(in.Files, data.InputOf(file, content))
			if err := kinds()[k].read(in, content, file); err != nil {
				return err
			}
		} else if file == path {
			unknown = unknownKind(path, content)
		}
	}
	if len(in.Files) == before {
		return unknown
	}
	return nil
}

// unknownKind is the error of a file that is no input.
func unknownKind(path string, content []byte) *data.InputError {
	names := list.Map(kinds(), func(k kind) string { return k.name })
	found := "an empty file"
	if first, _, _ := strings.Cut(strings.TrimSpace(string(content)), "\n"); first != "" {
		found = fmt.Sprintf("%.60q", first)
	}
	return &data.InputError{Source: data.Source{File: path, Line: 1}, Found: found, Want: "one of: " + strings.Join(names, ", ")}
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
		{"measurements (CSV with workers and step_time_s or throughput)", isMeasured, warned(data.ReadMeasurements, func(in *Inputs, ms []data.Measurement) { in.Measurements = append(in.Measurements, ms...) })},
		{"a simulation (CSV of knee simulate)", csvWith("policy", "jct_mean_s"), readResults("simulation")},
		{"simulated jobs (CSV of knee simulate --jobs-out)", csvWith("policy", "job", "submit_s", "jct_s"), readResults("jobs")},
		{"GPUs in use (CSV of knee simulate --usage-out)", csvWith("policy", "gpus_used", "time_s"), reads(simulate.ReadUsage, func(in *Inputs, u []simulate.Replayed) { in.Used = append(in.Used, u...) })},
		{"a comparison of searches (CSV of knee bench search)", csvWith("method", "evals_to_5pct"), readResults("search")},
		{"a training curve (CSV with loss, metric or grad_sqr)", csvWith("loss|metric|grad_sqr"), warned(data.ReadCurve, func(in *Inputs, c []data.CurvePoint) { in.Curves = append(in.Curves, c...) })},
		{"a cluster (cluster.yaml)", yamlWith("nodes:"), (*Inputs).readCluster},
		{"a study (study.yaml)", yamlWith("job:"), reads(data.ReadStudy, func(in *Inputs, s *data.Study) { in.Studies = append(in.Studies, s) })},
	}
}

// jsonWith recognises a JSON object that has all of the keys.
func jsonWith(keys ...string) func([]byte) bool {
	return func(content []byte) bool {
		var o map[string]json.RawMessage
		err := json.Unmarshal(bytes.TrimPrefix(content, []byte("\ufeff")), &o)
		return err == nil && !slices.ContainsFunc(keys, func(k string) bool { return o[k] == nil })
	}
}

// csvWith recognises a CSV with all of the columns; any will do of names with |.
func csvWith(names ...string) func([]byte) bool {
	return func(content []byte) bool {
		t, err := data.NewTable(bytes.NewReader(content), "")
		return err == nil && !slices.ContainsFunc(names, func(n string) bool { return !t.Has(strings.Split(n, "|")...) })
	}
}

// isMeasured recognises measurements, but no predictions or pairs of jobs.
func isMeasured(content []byte) bool {
	return csvWith("workers|placement", strings.Join(data.SpeedColumns(), "|"))(content) && !csvWith("step_time_lo_s|throughput_lo|beside")(content)
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
		t, err := data.NewTable(bytes.NewReader(content), path)
		if err != nil {
			return err
		}
		r := Results{File: path, Kind: kind, Columns: t.Header}
		if err := t.Each(func(row *data.Row) error { r.Rows = append(r.Rows, row.Cells()); return nil }); err != nil {
			return err
		}
		if kind == "jobs" {
			r.Replayed, err = simulate.ReadOutcomes(bytes.NewReader(content), path)
		}
		in.Tables = append(in.Tables, r)
		return err
	}
}
