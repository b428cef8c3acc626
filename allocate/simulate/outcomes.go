package simulate

import (
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

// ReadOutcomes reads what [WriteJobs] wrote. GPU-seconds are not recorded. name
// is the file, for errors.
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
