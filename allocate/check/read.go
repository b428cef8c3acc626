package check

import (
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"

	"knee/data"
)

// Step is one step of one worker.
type Step struct {
	Worker  string
	Step    int     // −1 if not recorded
	Time    float64 // s the step took; 0 if not recorded
	Arrived float64 // s, on a clock common to all workers, when its gradient was there
	// HasArrived says that Arrived was recorded.
	HasArrived bool
}

// columns are what a file of step times may hold, in any order: worker, and
// step_time_s or step with arrived_s.
var columns = []string{"worker", "step", "step_time_s", "arrived_s"}

const maxStep = 1_000_000_000

// Read reads the step times of the workers of one job: a CSV file with a
// header row and a row for each step of each worker. Columns:
//
//	worker       name or rank
//	step         number of the step, the same for all workers; optional
//	step_time_s  seconds the worker's step took
//	arrived_s    when its gradient arrived, in seconds on one clock; with
//	             step it can stand in for step_time_s
//
// Unknown columns are ignored and named in the warnings. Errors are
// [data.InputError] with file, line and column.
func Read(r io.Reader, file string) ([]Step, []string, error) {
	in := csv.NewReader(r)
	in.FieldsPerRecord = -1
	in.TrimLeadingSpace = true
	header, err := in.Read()
	if err != nil {
		if errors.Is(err, io.EOF) {
			return nil, nil, &data.InputError{Source: data.Source{File: file}, Found: "an empty file", Want: "a CSV header row with column names"}
		}
		return nil, nil, notCSV(file, err)
	}
	at, warnings, err := locate(header, file)
	if err != nil {
		return nil, nil, err
	}
	var out []Step
	for {
		row, err := in.Read()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return nil, nil, notCSV(file, err)
		}
		line, _ := in.FieldPos(0)
		s, err := stepOf(row, header, at, data.Source{File: file, Line: line})
		if err != nil {
			return nil, nil, err
		}
		out = append(out, s)
	}
	if len(out) == 0 {
		return nil, nil, &data.InputError{Source: data.Source{File: file}, Found: "no rows", Want: "a row for each step of each worker"}
	}
	return out, warnings, nil
}

// locate finds the columns in a header.
func locate(header []string, file string) (map[string]int, []string, error) {
	at := map[string]int{}
	var unknown []string
	for i, h := range header {
		h = strings.TrimSpace(strings.TrimPrefix(h, "\uFEFF"))
		switch _, twice := at[h]; {
		case twice:
			return nil, nil, &data.InputError{Source: data.Source{File: file, Line: 1, Column: h}, Found: "the column twice", Want: "each column once"}
		case slices.Contains(columns, h):
			at[h] = i
		default:
			unknown = append(unknown, strconv.Quote(h))
		}
	}
	has := func(name string) bool { _, ok := at[name]; return ok }
	if !has("worker") || !has("step_time_s") && !(has("step") && has("arrived_s")) {
		return nil, nil, &data.InputError{Source: data.Source{File: file, Line: 1}, Found: "columns " + strings.Join(header, ", "),
			Want: "worker, and step_time_s or both of step and arrived_s"}
	}
	if len(unknown) > 0 {
		return at, []string{fmt.Sprintf("%s: ignored unknown columns: %s", file, strings.Join(unknown, ", "))}, nil
	}
	return at, nil, nil
}

// stepOf reads one row.
func stepOf(row, header []string, at map[string]int, src data.Source) (Step, error) {
	fail := func(column, found, want string) error {
		src.Column = column
		return &data.InputError{Source: src, Found: found, Want: want}
	}
	if len(row) != len(header) {
		return Step{}, fail("", fmt.Sprintf("%d cells", len(row)), fmt.Sprintf("%d, one for each column of the header", len(header)))
	}
	cell := func(name string) string {
		if i, ok := at[name]; ok {
			return strings.TrimSpace(row[i])
		}
		return ""
	}
	s := Step{Worker: cell("worker"), Step: -1}
	if s.Worker == "" {
		return s, fail("worker", "nothing", "the name or rank of the worker")
	}
	if text := cell("step"); text != "" {
		n, err := strconv.Atoi(text)
		if err != nil || n < 0 || n > maxStep {
			return s, fail("step", strconv.Quote(text), fmt.Sprintf("a whole number from 0 to %d", maxStep))
		}
		s.Step = n
	}
	if text := cell("step_time_s"); text != "" {
		v, err := strconv.ParseFloat(text, 64)
		if err != nil || !(v > 0) || v-v != 0 {
			return s, fail("step_time_s", strconv.Quote(text), "seconds > 0")
		}
		s.Time = v
	}
	if text := cell("arrived_s"); text != "" {
		v, err := strconv.ParseFloat(text, 64)
		if err != nil || v-v != 0 {
			return s, fail("arrived_s", strconv.Quote(text), "seconds on a clock common to all workers")
		}
		s.Arrived, s.HasArrived = v, true
	}
	if s.Time == 0 && !(s.HasArrived && s.Step >= 0) {
		return s, fail("step_time_s", "nothing", "seconds > 0, or step and arrived_s in its place")
	}
	return s, nil
}

func notCSV(file string, err error) error {
	var pe *csv.ParseError
	if !errors.As(err, &pe) {
		return fmt.Errorf("read %s: %w", file, err)
	}
	return &data.InputError{Source: data.Source{File: file, Line: pe.Line}, Found: pe.Err.Error(), Want: "comma-separated values"}
}

// Load reads the file at path as [Read] does; see [data.Open].
func Load(path string) ([]Step, []string, error) {
	f, err := data.Open(path)
	if err != nil {
		return nil, nil, err
	}
	defer f.Close()
	return Read(f, path)
}
