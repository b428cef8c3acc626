package simulate

import (
	"encoding/csv"
	"fmt"
	"io"
	"strconv"

	"knee/data"
)

var outcomeColumns = []string{"policy", "workload", "job", "submit_s", "start_s", "end_s", "jct_s", "restarts"}

// Replayed holds the outcomes of the jobs of one workload under one policy.
type Replayed struct {
	Policy, Workload string
	Outcomes         []Outcome
}

// WriteJobs writes a CSV row for each job of every run.
func WriteJobs(w io.Writer, runs []Replayed) error {
	var rows [][]string
	for _, r := range runs {
		for _, o := range r.Outcomes {
			rows = append(rows, []string{r.Policy, r.Workload, o.Job, Exact(o.Submit), Exact(o.Start), Exact(o.End), Exact(o.JCT()), strconv.Itoa(o.Restarts)})
		}
	}
	return WriteRows(w, "simulated jobs", outcomeColumns, rows)
}

// ReadOutcomes reads what [WriteJobs] wrote, from the file name. GPU-seconds are not
// recorded.
func ReadOutcomes(r io.Reader, name string) ([]Replayed, error) {
	begin := func(policy, workload string) Replayed { return Replayed{Policy: policy, Workload: workload} }
	return readRuns(r, name, outcomeColumns, begin, func(run *Replayed, row *data.Row) {
		o := Outcome{Job: row.Text("job"), Submit: row.Required("submit_s", data.Seconds()), Start: row.Required("start_s", data.Seconds()),
			End: row.Required("end_s", data.Seconds()), Restarts: int(row.Required("restarts", data.Count(0)))}
		if o.End < o.Submit {
			row.Bad("end_s", "a time after submit_s, "+Exact(o.Submit))
		}
		run.Outcomes = append(run.Outcomes, o)
	})
}

// Usage is the use of a cluster from At until the next Usage.
type Usage struct {
	At      float64 // seconds since the start of the workload
	GPUs    int     // held by jobs, restarts included
	Running int     // jobs that hold some
	Waiting int     // jobs that are submitted, not done, and hold none
}

// Record appends a Usage to a history, unless nothing has changed. Of one time the last
// is kept.
func Record(history []Usage, u Usage) []Usage {
	if n := len(history); n > 0 && history[n-1].At == u.At {
		history = history[:n-1]
	}
	if n := len(history); n > 0 {
		before := history[n-1]
		if before.At = u.At; before == u {
			return history
		}
	}
	return append(history, u)
}

func (r *replay) used() {
	if r.Used == nil {
		return
	}
	u := Usage{At: r.now}
	for _, j := range r.active {
		if j.nodes == nil {
			u.Waiting++
			continue
		}
		if u.Running++; !j.guest {
			u.GPUs += j.config.Workers
		}
	}
	r.Used(u)
}

var usageColumns = []string{"policy", "workload", "time_s", "gpus_used", "gpus_total", "running", "waiting"}

// Used is the use of a cluster during the replay of one workload under one policy.
type Used struct {
	Policy, Workload string
	GPUs             int // of the cluster
	History          []Usage
}

// WriteUsage writes a CSV row for every change in every run.
func WriteUsage(w io.Writer, runs []Used) error {
	var rows [][]string
	for _, u := range runs {
		for _, x := range u.History {
			rows = append(rows, []string{u.Policy, u.Workload, Exact(x.At), strconv.Itoa(x.GPUs), strconv.Itoa(u.GPUs), strconv.Itoa(x.Running), strconv.Itoa(x.Waiting)})
		}
	}
	return WriteRows(w, "what is in use", usageColumns, rows)
}

// ReadUsage reads what [WriteUsage] wrote, from the file name, runs in order of appearance.
func ReadUsage(r io.Reader, name string) ([]Used, error) {
	begin := func(policy, workload string) Used { return Used{Policy: policy, Workload: workload} }
	return readRuns(r, name, usageColumns, begin, (*Used).parse)
}

func (u *Used) parse(row *data.Row) {
	x := Usage{At: row.Required("time_s", data.Seconds()), GPUs: int(row.Required("gpus_used", data.Count(0))), Running: int(row.Required("running", data.Count(0))), Waiting: int(row.Required("waiting", data.Count(0)))}
	gpus := int(row.Required("gpus_total", data.Count(0)))
	switch n := len(u.History); {
	case n > 0 && x.At <= u.History[n-1].At:
		row.Bad("time_s", "more than in the row of this run before, "+Exact(u.History[n-1].At))
	case n > 0 && gpus != u.GPUs:
		row.Bad("gpus_total", strconv.Itoa(u.GPUs)+", as in the row of this run before")
	case x.GPUs > gpus:
		row.Bad("gpus_used", "no more than gpus_total, "+strconv.Itoa(gpus))
	}
	u.GPUs = gpus
	u.History = append(u.History, x)
}

// WriteRows writes CSV; what is written is named in errors.
func WriteRows(w io.Writer, what string, header []string, rows [][]string) error {
	if err := csv.NewWriter(w).WriteAll(append([][]string{header}, rows...)); err != nil {
		return fmt.Errorf("write %s: %w", what, err)
	}
	return nil
}

// readRuns reads rows that begin with policy and workload, as a T for each run.
func readRuns[T any](r io.Reader, name string, columns []string, begin func(policy, workload string) T, add func(*T, *data.Row)) ([]T, error) {
	var out []T
	at := map[[2]string]int{}
	err := data.EachRow(r, name, columns, func(row *data.Row) error {
		run := [2]string{row.Text("policy"), row.Text("workload")}
		if _, known := at[run]; !known {
			at[run] = len(out)
			out = append(out, begin(run[0], run[1]))
		}
		add(&out[at[run]], row)
		return nil
	})
	if err != nil {
		return nil, err
	}
	return out, nil
}

// Exact writes a number with all of its digits.
func Exact(x float64) string { return strconv.FormatFloat(x, 'g', -1, 64) }
