package simulate

import (
	"bufio"
	"fmt"
	"io"
	"math"
	"strconv"
	"strings"

	"knee/data"
)

// columns are the names under which published workloads keep the fields of a
// [Job], and whether a workload can do without.
var columns = []struct {
	field    string
	names    []string
	required bool
}{
	{"job", []string{"job", "name", "job_id"}, false},
	{"submit_s", []string{"submit_s", "time", "submit_time", "submit_time_s"}, true},
	{"application", []string{"application", "model_name"}, false},
	{"workers", []string{"workers", "num_replicas", "num_gpu", "gpus"}, false},
	{"global_batch", []string{"global_batch", "batch_size"}, false},
	{"samples", []string{"samples", "work"}, false},
	{"duration_s", []string{"duration_s", "duration"}, false},
	{"weight", []string{"weight"}, false},
	{"elastic", []string{"elastic"}, false},
	{"workers_min", []string{"workers_min", "min_workers"}, false},
	{"workers_max", []string{"workers_max", "max_workers"}, false},
	{"tenant", []string{"tenant", "vc", "user"}, false},
}

// ReadWorkload reads a workload, told apart by how it begins: a trace of
// Gavel, whose lines have tabs and no header, or CSV with one job per row and
// columns by name in any order, unknown ones ignored. It knows the names that
// published traces use
// (name, time, application, num_replicas, batch_size; job_id, num_gpu,
// submit_time, model_name, duration). Work is samples; a duration_s without
// samples becomes seconds of work at one sample per second on the requested
// workers, see [RigidOptions]. A job without a name is called by its number.
// elastic (true or false), workers_min and workers_max say what a policy may
// do with a job, see [Job].
// name is the file, for errors.
func ReadWorkload(r io.Reader, name string) ([]Job, error) {
	b := bufio.NewReader(r)
	if isGavel(b) {
		return readGavel(b, name)
	}
	records, err := data.ReadRecords(b, name)
	if err != nil {
		return nil, err
	}
	at, err := locate(records.Header, name)
	if err != nil {
		return nil, err
	}
	var jobs []Job
	seen := map[string]int{}
	for i, row := range records.Rows {
		line := records.Lines[i]
		j, err := parseJob(row, at, data.Source{File: name, Line: line}, len(jobs))
		if err != nil {
			return nil, err
		}
		if first, ok := seen[j.Name]; ok {
			return nil, &data.InputError{Source: data.Source{File: name, Line: line, Column: "job"}, Found: fmt.Sprintf("%q, as in line %d", j.Name, first), Want: "a name for each job"}
		}
		seen[j.Name] = line
		jobs = append(jobs, j)
	}
	return jobs, nil
}

// locate maps fields to positions in the header.
func locate(header []string, file string) (map[string]int, error) {
	at := map[string]int{}
	for _, c := range columns {
		for i, h := range header {
			h = strings.ToLower(h)
			for _, n := range c.names {
				if _, ok := at[c.field]; !ok && h == n {
					at[c.field] = i
				}
			}
		}
		if _, ok := at[c.field]; !ok && c.required {
			return nil, &data.InputError{Source: data.Source{File: file, Line: 1}, Found: "columns " + strings.Join(header, ", "), Want: "a column " + strings.Join(c.names, " or ")}
		}
	}
	return at, nil
}

func parseJob(row []string, at map[string]int, src data.Source, n int) (Job, error) {
	j := Job{Source: src}
	text := func(field string) string {
		if i, ok := at[field]; ok {
			return strings.TrimSpace(row[i])
		}
		return ""
	}
	var first error
	num := func(field string) float64 {
		s := text(field)
		if s == "" {
			return 0
		}
		x, err := strconv.ParseFloat(s, 64)
		if (err != nil || math.IsNaN(x) || math.IsInf(x, 0) || x < 0) && first == nil {
			at := src
			at.Column = field
			first = &data.InputError{Source: at, Found: strconv.Quote(s), Want: "a number ≥ 0"}
		}
		return x
	}
	j.Name, j.Application, j.Tenant = text("job"), text("application"), text("tenant")
	if j.Name == "" {
		j.Name = strconv.Itoa(n)
	}
	j.Submit, j.Batch, j.Weight = num("submit_s"), num("global_batch"), num("weight")
	workers := num("workers")
	if j.Work = num("samples"); j.Work == 0 {
		j.Work = num("duration_s")
	}
	if first == nil && (workers != math.Trunc(workers) || workers > mostWorkers) {
		src.Column = "workers"
		first = &data.InputError{Source: src, Found: strconv.Quote(text("workers")), Want: "a whole number of workers, at most 1000000"}
	}
	j.Workers = int(workers)
	if first == nil {
		first = parseBounds(&j, text)
	}
	return j, first
}
