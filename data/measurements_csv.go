package data

import (
	"encoding/csv"
	"fmt"
	"io"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/gocarina/gocsv"
)

// extraPrefix marks the columns of further knobs in measurements.csv.
const extraPrefix = "x_"

// Wants shared by several columns of measurements.csv.
const (
	wantPositiveTime = "seconds > 0"
	wantTime         = "seconds ≥ 0"
	wantBatch        = "samples > 0, at most 1e12"
	maxBatch         = 1e12 // larger batches are typing errors and could overflow
)

// ReadMeasurements reads measurements.csv from r. The name stands for the
// file in errors and sources.
//
// Counts that are not given are derived: nodes and workers from the
// placement, the local batch from the global batch. Where several are given
// they must agree. Unknown columns give one warning; columns x_<name> become
// [Config.Extra]. The first thing that is wrong is returned as an
// [*InputError].
func ReadMeasurements(r io.Reader, name string) (ms []Measurement, warnings []string, err error) {
	t, err := readTable(r, name)
	if err != nil {
		return nil, nil, err
	}
	if err := checkMeasurementColumns(t); err != nil {
		return nil, nil, err
	}
	var rows []measurementRow
	if err := gocsv.UnmarshalCSV(t, &rows); err != nil {
		return nil, nil, fmt.Errorf("read %s: %w", name, err)
	}
	extra := extraColumns(t.header)
	slowSync := 0
	for i, mr := range rows {
		mr.extra = map[string]string{}
		for knob, j := range extra {
			if cell := t.rows[i][j]; cell != "" {
				mr.extra[knob] = cell
			}
		}
		m, err := mr.measurement(Source{File: name, Line: t.lines[i]})
		if err != nil {
			return nil, nil, err
		}
		if m.Status == OK && m.SyncTime > m.StepTime {
			slowSync++
		}
		ms = append(ms, m)
	}
	warnings = t.unknownWarning(measurementColumns(), isExtraColumn)
	if slowSync > 0 {
		// Measured separately the two may cross by noise, so it is no error.
		warnings = append(warnings, fmt.Sprintf("%s: sync_time_s exceeds step_time_s in %d of %d rows", name, slowSync, len(rows)))
	}
	return ms, warnings, nil
}

// LoadMeasurements reads the measurements file at path, as
// [ReadMeasurements] does; see [Open] for "-" and compressed files.
func LoadMeasurements(path string) (ms []Measurement, warnings []string, err error) {
	f, err := Open(path)
	if err != nil {
		return nil, nil, err
	}
	defer f.Close()
	return ReadMeasurements(f, path)
}

// WriteMeasurements writes measurements.csv. The columns that say what was
// measured are always there, the others only if some row has a value. A
// measurement that [ReadMeasurements] would refuse is an error.
func WriteMeasurements(w io.Writer, ms []Measurement) error {
	rows := make([]measurementRow, len(ms))
	var knobs []string
	for i, m := range ms {
		rows[i] = newMeasurementRow(m)
		src := Source{File: fmt.Sprintf("measurement %d", i+1)}
		if _, err := rows[i].measurement(src); err != nil {
			return fmt.Errorf("write measurements: %w", err)
		}
		for knob := range m.Extra {
			if !slices.Contains(knobs, knob) {
				knobs = append(knobs, knob)
			}
		}
	}
	slices.Sort(knobs)
	var all recorder
	if err := gocsv.MarshalCSV(rows, &all); err != nil {
		return fmt.Errorf("write measurements: %w", err)
	}
	all.addExtra(knobs, ms)
	cw := csv.NewWriter(w)
	if err := cw.WriteAll(all.withoutEmpty(coreMeasurementColumns())); err != nil {
		return fmt.Errorf("write measurements: %w", err)
	}
	return nil
}

// checkMeasurementColumns refuses a header that lacks what every row needs.
func checkMeasurementColumns(t *table) error {
	switch {
	case !t.has("job"):
		return t.missing("job", "a column job")
	case !t.has("workers", "placement"):
		return t.missing("workers", "a column workers or placement")
	case !t.has("step_time_s", "status"):
		return t.missing("step_time_s", "a column step_time_s, or status if no trial succeeded")
	}
	return nil
}

// isExtraColumn reports whether a column holds a further knob.
func isExtraColumn(name string) bool {
	return strings.HasPrefix(name, extraPrefix) && len(name) > len(extraPrefix)
}

// extraColumns returns the positions of the columns of further knobs.
func extraColumns(header []string) map[string]int {
	at := map[string]int{}
	for i, h := range header {
		if isExtraColumn(h) {
			at[h[len(extraPrefix):]] = i
		}
	}
	return at
}

// parseStartedAt reads a time stamp, normalised to UTC so that the same file
// gives the same measurements on every machine.
func parseStartedAt(cell string) (time.Time, error) {
	if cell == "" {
		return time.Time{}, nil
	}
	at, err := time.Parse(time.RFC3339Nano, cell)
	if at = at.UTC(); err == nil && (at.Year() < 1 || at.Year() > 9999) {
		err = fmt.Errorf("year %d", at.Year())
	}
	return at, err
}

// nearlyEqual reports whether a and b agree to a part in a thousand, which
// leaves room for local batches written with few digits.
func nearlyEqual(a, b float64) bool {
	return math.Abs(a-b) <= 1e-3*math.Max(math.Abs(a), math.Abs(b))
}

// recorder is a gocsv.CSVWriter that keeps the rows, so that columns can be
// added and dropped before they are written.
type recorder struct{ rows [][]string }

// Write implements gocsv.CSVWriter.
func (r *recorder) Write(cells []string) error {
	r.rows = append(r.rows, slices.Clone(cells))
	return nil
}

// Flush implements gocsv.CSVWriter.
func (r *recorder) Flush() {}

// Error implements gocsv.CSVWriter.
func (r *recorder) Error() error { return nil }

// addExtra appends one column for each knob.
func (r *recorder) addExtra(knobs []string, ms []Measurement) {
	for _, knob := range knobs {
		r.rows[0] = append(r.rows[0], extraPrefix+knob)
		for i, m := range ms {
			r.rows[i+1] = append(r.rows[i+1], m.Extra[knob])
		}
	}
}

// withoutEmpty returns the rows without the columns that are empty in every
// row and not in keep.
func (r *recorder) withoutEmpty(keep []string) [][]string {
	var columns []int
	for j, h := range r.rows[0] {
		filled := func(row []string) bool { return row[j] != "" }
		if slices.Contains(keep, h) || slices.ContainsFunc(r.rows[1:], filled) {
			columns = append(columns, j)
		}
	}
	out := make([][]string, len(r.rows))
	for i, row := range r.rows {
		for _, j := range columns {
			out[i] = append(out[i], row[j])
		}
	}
	return out
}
