package simulate

import (
	"io"

	"knee/data"
)

// outcomeColumns are those of the per-job CSV.
var outcomeColumns = []string{"policy", "workload", "job", "submit_s", "start_s", "end_s", "jct_s", "restarts"}

// Replayed is what became of the jobs of one workload under one policy.
type Replayed struct {
	Policy, Workload string
	Outcomes         []Outcome
}

// ReadOutcomes reads what [WriteJobs] wrote: a row per job, runs in order of
// appearance. GPU-seconds are not recorded. name is the file, for errors.
func ReadOutcomes(r io.Reader, name string) ([]Replayed, error) {
	var out []Replayed
	runs := runIndex{}
	err := data.EachRow(r, name, outcomeColumns, func(row *data.Row) error {
		i, isNew := runs.of(row)
		if isNew {
			out = append(out, Replayed{Policy: row.Text("policy"), Workload: row.Text("workload")})
		}
		out[i].Outcomes = append(out[i].Outcomes, parseOutcome(row))
		return nil
	})
	if err != nil {
		return nil, err
	}
	return out, nil
}

// runIndex numbers the runs of a file in order of appearance.
type runIndex map[[2]string]int

// of returns the number of the run a row is of.
func (x runIndex) of(row *data.Row) (i int, isNew bool) {
	run := [2]string{row.Text("policy"), row.Text("workload")}
	i, known := x[run]
	if !known {
		i = len(x)
		x[run] = i
	}
	return i, !known
}

func parseOutcome(row *data.Row) Outcome {
	o := Outcome{Job: row.Text("job"), Submit: row.Required("submit_s", data.Seconds()), Start: row.Required("start_s", data.Seconds()),
		End: row.Required("end_s", data.Seconds()), Restarts: int(row.Required("restarts", data.Count(0)))}
	if o.End < o.Submit {
		row.Bad("end_s", "a time after submit_s, "+number(o.Submit))
	}
	return o
}
