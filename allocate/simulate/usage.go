package simulate

import (
	"io"
	"strconv"

	"knee/data"
)

// Usage is the use of a cluster from At until the next Usage.
type Usage struct {
	At      float64 // seconds since the start of the workload
	GPUs    int     // held by jobs, restarts included
	Running int     // jobs that hold some
	Waiting int     // jobs that are submitted, not done, and hold none
}

// Record appends a Usage to a history, unless nothing has changed. Of several at
// one time the last is kept.
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

// used reports the present use to [Settings.Used].
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

// ReadUsage reads what [WriteUsage] wrote, runs in order of appearance. name
// is the file, for errors.
func ReadUsage(r io.Reader, name string) ([]Used, error) {
	begin := func(policy, workload string) Used { return Used{Policy: policy, Workload: workload} }
	return readRuns(r, name, usageColumns, begin, (*Used).parse)
}

// parse adds one row.
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
