package simulate

import (
	"cmp"
	"encoding/csv"
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"

	"knee/data"
	"knee/internal/quantile"
)

var outcomeColumns = []string{"policy", "workload", "job", "submit_s", "start_s", "end_s", "jct_s", "restarts"}

// Replayed is the replay of one workload under one policy.
type Replayed struct {
	Policy   string    `json:"policy"`
	Workload string    `json:"workload"`
	Outcomes []Outcome `json:"-"`
	GPUs     int       `json:"-"` // of the cluster
	History  []Usage   `json:"-"` // nil unless recorded
}

// WriteJobs writes a CSV row for each job of every run.
func WriteJobs(w io.Writer, runs []Replayed) error {
	var rows [][]string
	for _, r := range runs {
		for _, o := range r.Outcomes {
			rows = append(rows, []string{r.Policy, r.Workload, o.Job, Exact(o.Submit), Exact(o.Start), Exact(o.End), Exact(o.JCT()), strconv.Itoa(o.Restarts),
				string(cmp.Or(o.Fate, Completes)), Exact(o.GPUSeconds)})
		}
	}
	return WriteRows(w, "simulated jobs", append(slices.Clone(outcomeColumns), "fate", "gpu_seconds"), rows)
}

// ReadOutcomes reads what [WriteJobs] wrote, from the file name; earlier versions wrote
// neither fates nor GPU-seconds.
func ReadOutcomes(r io.Reader, name string) ([]Replayed, error) {
	return readRuns(r, name, outcomeColumns, func(run *Replayed, row *data.Row) {
		o := Outcome{Job: row.Text("job"), Submit: row.Required("submit_s", data.Seconds()), Start: row.Required("start_s", data.Seconds()),
			End: row.Required("end_s", data.Seconds()), Restarts: int(row.Required("restarts", data.Count(0))), Fate: Fate(row.Text("fate")), GPUSeconds: row.Number("gpu_seconds", 0, data.Seconds())}
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

// WriteUsage writes a CSV row for every change in every run.
func WriteUsage(w io.Writer, runs []Replayed) error {
	var rows [][]string
	for _, u := range runs {
		for _, x := range u.History {
			rows = append(rows, []string{u.Policy, u.Workload, Exact(x.At), strconv.Itoa(x.GPUs), strconv.Itoa(u.GPUs), strconv.Itoa(x.Running), strconv.Itoa(x.Waiting)})
		}
	}
	return WriteRows(w, "what is in use", usageColumns, rows)
}

// ReadUsage reads what [WriteUsage] wrote, from the file name, runs in order of appearance.
func ReadUsage(r io.Reader, name string) ([]Replayed, error) {
	return readRuns(r, name, usageColumns, func(u *Replayed, row *data.Row) {
		count := func(column string) int { return int(row.Required(column, data.Count(0))) }
		x := Usage{At: row.Required("time_s", data.Seconds()), GPUs: count("gpus_used"), Running: count("running"), Waiting: count("waiting")}
		gpus := count("gpus_total")
		switch n := len(u.History); {
		case n > 0 && x.At <= u.History[n-1].At:
			row.Bad("time_s", "more than in the row of this run before, "+Exact(u.History[n-1].At))
		case n > 0 && gpus != u.GPUs:
			row.Bad("gpus_total", strconv.Itoa(u.GPUs)+", as in the row of this run before")
		case x.GPUs > gpus:
			row.Bad("gpus_used", "no more than gpus_total, "+strconv.Itoa(gpus))
		}
		u.GPUs, u.History = gpus, append(u.History, x)
	})
}

// WriteRows writes CSV; what is written is named in errors.
func WriteRows(w io.Writer, what string, header []string, rows [][]string) error {
	if err := csv.NewWriter(w).WriteAll(append([][]string{header}, rows...)); err != nil {
		return fmt.Errorf("write %s: %w", what, err)
	}
	return nil
}

// readRuns reads rows that begin with policy and workload; add reads the rest.
func readRuns(r io.Reader, name string, columns []string, add func(*Replayed, *data.Row)) ([]Replayed, error) {
	var out []Replayed
	at := map[[2]string]int{}
	err := data.EachRow(r, name, columns, func(row *data.Row) error {
		run := [2]string{row.Text("policy"), row.Text("workload")}
		if _, known := at[run]; !known {
			at[run] = len(out)
			out = append(out, Replayed{Policy: run[0], Workload: run[1]})
		}
		add(&out[at[run]], row)
		return nil
	})
	return out, err
}

// Exact writes a number with all of its digits.
func Exact(x float64) string { return strconv.FormatFloat(x, 'g', -1, 64) }

// Summary is a replayed workload in one row.
type Summary struct {
	Jobs        int     `json:"jobs"`
	JCTMean     float64 `json:"jct_mean_s"`   // s
	JCTMedian   float64 `json:"jct_median_s"` // s
	JCTP99      float64 `json:"jct_p99_s"`    // s
	QueueMean   float64 `json:"queue_mean_s"` // s from submission to first start
	Makespan    float64 `json:"makespan_s"`   // s from the first submission to the last end
	GPUHours    float64 `json:"gpu_hours"`    // held by jobs, restarts included
	Utilization float64 `json:"utilization"`  // GPU-hours ÷ (GPUs × makespan)
	Restarts    int     `json:"restarts"`
	Useful      int     `json:"useful_jobs"`      // jobs that completed, see [Fate]
	Wasted      float64 `json:"wasted_gpu_hours"` // GPU-hours of the others
}

// Summarize adds up the outcomes of a workload on a cluster of n GPUs.
// Quantiles interpolate linearly between order statistics.
func Summarize(outcomes []Outcome, n int) Summary {
	s := Summary{Jobs: len(outcomes)}
	if len(outcomes) == 0 {
		return s
	}
	first, last := math.Inf(1), 0.0
	var jct []float64
	for _, o := range outcomes {
		jct = append(jct, o.JCT())
		s.JCTMean += o.JCT() / float64(len(outcomes))
		s.QueueMean += (o.Start - o.Submit) / float64(len(outcomes))
		s.GPUHours += o.GPUSeconds / 3600
		s.Restarts += o.Restarts
		if o.Useful() {
			s.Useful++
		} else {
			s.Wasted += o.GPUSeconds / 3600
		}
		first, last = math.Min(first, o.Submit), math.Max(last, o.End)
	}
	slices.Sort(jct)
	s.JCTMedian, s.JCTP99 = quantile.Sorted(jct, 0.5), quantile.Sorted(jct, 0.99)
	s.Makespan = last - first
	if s.Makespan > 0 && n > 0 {
		s.Utilization = s.GPUHours * 3600 / (s.Makespan * float64(n))
	}
	return s
}
