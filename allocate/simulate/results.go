package simulate

import (
	"cmp"
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"

	"github.com/gocarina/gocsv"

	"knee/data"
	"knee/internal/quantile"
)

// Replayed is the replay of one workload under one policy.
type Replayed struct {
	Policy   string    `json:"policy" csv:"policy" required:"true"`
	Workload string    `json:"workload" csv:"workload" required:"true"`
	Outcomes []Outcome `json:"-" csv:"-"`
	GPUs     int       `json:"-" csv:"-"` // of the cluster
	History  []Usage   `json:"-" csv:"-"` // nil unless recorded
}

func (r Replayed) run() [2]string { return [2]string{r.Policy, r.Workload} }

// outcomeRow is an [Outcome]. Earlier versions wrote neither fates nor GPU-seconds.
type outcomeRow struct {
	Replayed
	Job        string  `csv:"job" required:"true"`
	Submit     float64 `csv:"submit_s" is:"seconds" required:"true"`
	Start      float64 `csv:"start_s" is:"seconds" required:"true"`
	End        float64 `csv:"end_s" is:"seconds" required:"true"`
	JCT        float64 `csv:"jct_s" is:"seconds" required:"true"`
	Restarts   int     `csv:"restarts" required:"true"`
	Fate       Fate    `csv:"fate"`
	GPUSeconds float64 `csv:"gpu_seconds" is:"seconds"`
}

// WriteJobs writes a CSV row for each job of every run.
func WriteJobs(w io.Writer, runs []Replayed) error {
	var rows []outcomeRow
	for _, r := range runs {
		for _, o := range r.Outcomes {
			rows = append(rows, outcomeRow{r, o.Job, o.Submit, o.Start, o.End, o.JCT(), o.Restarts, cmp.Or(o.Fate, Completes), o.GPUSeconds})
		}
	}
	return WriteRows(w, "simulated jobs", rows)
}

// ReadOutcomes reads what [WriteJobs] wrote, from the file name.
func ReadOutcomes(r io.Reader, name string) ([]Replayed, error) {
	return readRuns(r, name, func(run *Replayed, row *data.Row, o *outcomeRow) {
		if o.End < o.Submit {
			row.Bad("end_s", "a time after submit_s, "+Exact(o.Submit))
		}
		run.Outcomes = append(run.Outcomes, Outcome{Job: o.Job, Submit: o.Submit, Start: o.Start, End: o.End, Restarts: o.Restarts, Fate: o.Fate, GPUSeconds: o.GPUSeconds})
	})
}

// Usage is the use of a cluster from At until the next Usage.
type Usage struct {
	At      float64 // seconds since the start of the workload
	GPUs    int     // held by jobs, restarts included
	Running int     // jobs that hold some
	Waiting int     // jobs that are submitted, not done, and hold none
}

// usageRow is a [Usage].
type usageRow struct {
	Replayed
	At      float64 `csv:"time_s" is:"seconds" required:"true"`
	GPUs    int     `csv:"gpus_used" required:"true"`
	Total   int     `csv:"gpus_total" required:"true"`
	Running int     `csv:"running" required:"true"`
	Waiting int     `csv:"waiting" required:"true"`
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

// WriteUsage writes a CSV row for every change in every run.
func WriteUsage(w io.Writer, runs []Replayed) error {
	var rows []usageRow
	for _, u := range runs {
		for _, x := range u.History {
			rows = append(rows, usageRow{u, x.At, x.GPUs, u.GPUs, x.Running, x.Waiting})
		}
	}
	return WriteRows(w, "what is in use", rows)
}

// ReadUsage reads what [WriteUsage] wrote, from the file name, runs in order of appearance.
func ReadUsage(r io.Reader, name string) ([]Replayed, error) {
	return readRuns(r, name, (*Replayed).addUsage)
}

func (u *Replayed) addUsage(row *data.Row, x *usageRow) {
	switch n := len(u.History); {
	case n > 0 && x.At <= u.History[n-1].At:
		row.Bad("time_s", "more than in the row of this run before, "+Exact(u.History[n-1].At))
	case n > 0 && x.Total != u.GPUs:
		row.Bad("gpus_total", strconv.Itoa(u.GPUs)+", as in the row of this run before")
	case x.GPUs > x.Total:
		row.Bad("gpus_used", "no more than gpus_total, "+strconv.Itoa(x.Total))
	}
	u.GPUs = x.Total
	u.History = append(u.History, Usage{x.At, x.GPUs, x.Running, x.Waiting})
}

// WriteRows writes structs as CSV; what is written is named in errors.
func WriteRows[T any](w io.Writer, what string, rows []T) error {
	if err := gocsv.Marshal(rows, w); err != nil {
		return fmt.Errorf("write %s: %w", what, err)
	}
	return nil
}

// readRuns reads the rows of runs; add adds one to its run.
func readRuns[T interface{ run() [2]string }](r io.Reader, name string, add func(*Replayed, *data.Row, *T)) ([]Replayed, error) {
	t, err := data.NewTable(r, name)
	if err != nil {
		return nil, err
	}
	var out []Replayed
	at := map[[2]string]int{}
	err = data.EachOf(t, func(row *data.Row, x *T) error {
		run := (*x).run()
		if _, known := at[run]; !known {
			at[run] = len(out)
			out = append(out, Replayed{Policy: run[0], Workload: run[1]})
		}
		add(&out[at[run]], row, x)
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
