package simulate

import (
	"bufio"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"time"

	"knee/data"
)

// columns are the fields of a [Job], first, and their names in published workloads.
var columns = [][]string{
	{"job", "name", "job_id"},
	{"submit_s", "time", "submit_time", "submit_time_s", "submission_time"},
	{"application", "model_name"},
	{"workers", "num_replicas", "num_gpu", "num_gpus", "gpus"},
	{"global_batch", "batch_size"},
	{"samples", "work"}, {"duration_s", "duration"}, {"total_steps", "steps"},
	{"exec_plan"}, {"fixed_layout"}, {"weight"}, {"elastic"}, {"opportunistic"},
	{"workers_min", "min_workers"}, {"workers_max", "max_workers"}, {"logical_workers"},
	{"tenant", "vc", "user"},
	{"declared", "declared_s"}, {"status"}, {"ends_at"}, {"cancel_after_s"},
}

// ReadWorkload reads a workload in one of these formats, recognised by its
// beginning:
//
//   - a trace of Gavel: tabs, no header;
//   - cluster_job_log of Philly: JSON;
//   - pai_task_table of Alibaba: CSV without a header;
//   - CSV with one job per row and a header, columns in any order, under the names
//     of published traces (name, time, application, num_replicas, batch_size;
//     job_id, num_gpu, submit_time, model_name, duration). The warnings name
//     unknown columns.
//
// Submissions are seconds, or points in time, counted from the first. Work is in
// samples. A duration_s without samples becomes seconds of work at one sample per
// second on the requested workers, see [RigidOptions]. A job without a name is
// named by its number.
//
// status is how a job ends (see [Fate]); its work is then the work it did, and declared
// that which its owner declared. With ends_at its work is the declared one, and it
// ends at that share. cancel_after_s cancels a job so many seconds after submission.
// elastic and opportunistic (true or false), workers_min and workers_max limit what
// a policy may do, see [Job]. exec_plan is the layout of a job in the notation of
// Rubick; with fixed_layout (true or false) the job keeps it.
//
// name is the file, for errors.
func ReadWorkload(r io.Reader, name string) (jobs []Job, warnings []string, err error) {
	b := bufio.NewReader(r)
	head, _ := b.Peek(4096) // a shorter text will do
	line, _, _ := strings.Cut(string(head), "\n")
	switch {
	case strings.Count(line, "\t") >= len(gavelColumns)/2:
		jobs, err = readGavel(b, name)
		return jobs, nil, err
	case strings.HasPrefix(strings.TrimSpace(string(head)), "["):
		return readPhilly(b, name)
	case isAlibaba(line):
		return readAlibaba(b, name)
	}
	t, err := data.NewTable(b, name)
	if err != nil {
		return nil, nil, err
	}
	if err := rename(t); err != nil {
		return nil, nil, err
	}
	var known []string
	for _, c := range columns {
		known = append(known, c[0])
	}
	seen, clock := map[string]int{}, 0
	err = t.Each(func(row *data.Row) error {
		j := parseJob(row, len(jobs))
		at, isClock := clockTime(row.Cell("submit_s"))
		if j.Submit = at; isClock {
			clock++
		} else {
			j.Submit = row.Number("submit_s", 0, data.Seconds())
		}
		if clock > 0 && clock <= len(jobs) {
			row.Bad("submit_s", "times such as 2026-01-01 10:00:00 in all rows, or seconds in all")
		}
		if first, ok := seen[j.Name]; ok {
			row.Fail("job", fmt.Sprintf("%q, as in line %d", j.Name, first), "a name for each job")
		}
		seen[j.Name] = row.Line
		jobs = append(jobs, j)
		return nil
	})
	if err != nil {
		return nil, nil, err
	}
	if clock > 0 {
		jobs = fromFirst(jobs)
	}
	return jobs, t.Unknown(known), nil
}

// clockTime reads a point in time as seconds since 1970.
func clockTime(cell string) (seconds float64, ok bool) {
	for _, layout := range []string{time.RFC3339, time.DateTime, "2006-01-02T15:04:05"} {
		if at, err := time.Parse(layout, cell); err == nil {
			return float64(at.UnixNano()) / 1e9, true
		}
	}
	return 0, false
}

// rename calls the columns of a published workload as this package does.
func rename(t *data.Table) error {
	names := map[string]string{}
	for _, c := range columns {
		i := slices.IndexFunc(t.Header, func(h string) bool { return slices.Contains(c, strings.ToLower(h)) })
		switch {
		case i >= 0 && t.Header[i] != c[0] && !t.Has(c[0]):
			names[t.Header[i]] = c[0]
		case i < 0 && c[0] == "submit_s":
			return t.Missing("", "a column "+strings.Join(c, " or "))
		}
	}
	return t.Rename(names)
}

func parseJob(row *data.Row, n int) Job {
	work := data.NonNegative("a number")
	j := Job{Source: row.Source(), Name: row.Text("job"), Application: row.Text("application"), Tenant: row.Text("tenant"),
		Batch: row.Number("global_batch", 0, work), Weight: row.Number("weight", 0, work),
		Workers: int(row.Number("workers", 0, workerCount()))}
	if j.Name == "" {
		j.Name = strconv.Itoa(n)
	}
	if j.Work = row.Number("samples", 0, work); j.Work == 0 {
		j.Work, j.Seconds = row.Number("duration_s", 0, work), true
	}
	j.TotalSteps = row.Number("total_steps", 0, work)
	parsePlan(&j, row)
	parseBounds(&j, row)
	parseFate(&j, row)
	return j
}

// LoadWorkload reads the workload at path, as [ReadWorkload] does; see
// [data.Open] for "-" and compressed files.
func LoadWorkload(path string) (jobs []Job, warnings []string, err error) {
	return data.LoadTable(path, ReadWorkload)
}

// LoadServiceTimes reads the column duration of a CSV file: a sample of the
// GPU-seconds that jobs need. Fractions are dropped.
func LoadServiceTimes(path string) (out []int64, err error) {
	err = EachRow(path, []string{"duration"}, func(row *data.Row) error {
		out = append(out, int64(row.Required("duration", data.Bounds{What: "GPU-seconds", Min: 1, Max: 1e15, Want: "GPU-seconds ≥ 1"})))
		return nil
	})
	return out, err
}

// EachRow is [data.EachRow] on the file at path.
func EachRow(path string, columns []string, do func(*data.Row) error) error {
	f, err := data.Open(path)
	if err != nil {
		return err
	}
	defer f.Close()
	return data.EachRow(f, path, columns, do)
}
