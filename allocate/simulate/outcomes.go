package simulate

import (
	"io"
	"math"
	"strconv"
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
	index := map[[2]string]int{}
	err := eachRecord(r, name, outcomeColumns, func(row record) error {
		o, err := parseOutcome(row)
		if err != nil {
			return err
		}
		run := row.run()
		i, ok := index[run]
		if !ok {
			i = len(out)
			index[run] = i
			out = append(out, Replayed{Policy: run[0], Workload: run[1]})
		}
		out[i].Outcomes = append(out[i].Outcomes, o)
		return nil
	})
	if err != nil {
		return nil, err
	}
	return out, nil
}

func parseOutcome(row record) (Outcome, error) {
	o := Outcome{Job: row.cell("job")}
	var restarts float64
	for _, f := range []struct {
		column string
		to     *float64
	}{{"submit_s", &o.Submit}, {"start_s", &o.Start}, {"end_s", &o.End}, {"restarts", &restarts}} {
		v, err := strconv.ParseFloat(row.cell(f.column), 64)
		if err != nil || math.IsNaN(v) || math.IsInf(v, 0) || v < 0 || f.column == "restarts" && (v != math.Trunc(v) || v > 1e9) {
			return o, row.bad(f.column, strconv.Quote(row.cell(f.column)), "a number ≥ 0")
		}
		*f.to = v
	}
	if o.Restarts = int(restarts); o.End < o.Submit {
		return o, row.bad("end_s", number(o.End), "a time after submit_s, "+number(o.Submit))
	}
	return o, nil
}
