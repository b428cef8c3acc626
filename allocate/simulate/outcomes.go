package simulate

import (
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"
	"strings"

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
	c := csv.NewReader(r)
	header, err := c.Read()
	if errors.Is(err, io.EOF) {
		return nil, &data.InputError{Source: data.Source{File: name, Line: 1}, Found: "an empty file", Want: "columns " + strings.Join(outcomeColumns, ", ")}
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	at := map[string]int{}
	for _, want := range outcomeColumns {
		at[want] = slices.Index(header, want)
		if at[want] < 0 {
			return nil, &data.InputError{Source: data.Source{File: name, Line: 1}, Found: "columns " + strings.Join(header, ", "), Want: "a column " + want}
		}
	}
	var out []Replayed
	index := map[[2]string]int{}
	for {
		row, err := c.Read()
		if errors.Is(err, io.EOF) {
			return out, nil
		}
		if err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
		line, _ := c.FieldPos(0)
		o, err := parseOutcome(row, at, data.Source{File: name, Line: line})
		if err != nil {
			return nil, err
		}
		key := [2]string{row[at["policy"]], row[at["workload"]]}
		i, ok := index[key]
		if !ok {
			i = len(out)
			index[key] = i
			out = append(out, Replayed{Policy: key[0], Workload: key[1]})
		}
		out[i].Outcomes = append(out[i].Outcomes, o)
	}
}

func parseOutcome(row []string, at map[string]int, src data.Source) (Outcome, error) {
	o := Outcome{Job: row[at["job"]]}
	var restarts float64
	for _, f := range []struct {
		column string
		to     *float64
	}{{"submit_s", &o.Submit}, {"start_s", &o.Start}, {"end_s", &o.End}, {"restarts", &restarts}} {
		v, err := strconv.ParseFloat(row[at[f.column]], 64)
		if err != nil || math.IsNaN(v) || math.IsInf(v, 0) || v < 0 || f.column == "restarts" && (v != math.Trunc(v) || v > 1e9) {
			src.Column = f.column
			return o, &data.InputError{Source: src, Found: strconv.Quote(row[at[f.column]]), Want: "a number ≥ 0"}
		}
		*f.to = v
	}
	if o.Restarts = int(restarts); o.End < o.Submit {
		src.Column = "end_s"
		return o, &data.InputError{Source: src, Found: number(o.End), Want: "a time after submit_s, " + number(o.Submit)}
	}
	return o, nil
}
