package interference

import (
	"fmt"
	"io"

	"knee/data"
)

// Load is [Read] of the file at path; see [data.Open].
func Load(path string) (rows []Row, warnings []string, err error) {
	return data.LoadTable(path, Read)
}

// Read reads a CSV with one row for each job of a pair: application, beside (the other
// job), gpu_type, workers (empty: any number), and the speed beside the other as share of
// that alone, or step_time_s or steps_per_s, each with its alone_ column; 0 if the two do
// not fit on the GPU. name is the file in errors; warnings name unknown columns, and a job
// faster beside another than alone.
func Read(r io.Reader, name string) (rows []Row, warnings []string, err error) {
	t, err := data.NewTable(r, name)
	if err != nil {
		return nil, nil, err
	}
	seen, faster := map[Row]bool{}, ""
	err = data.EachOf(t, func(row *data.Row, r *Row) error {
		if seen[*r] {
			row.Bad("beside", "each pair once on a GPU type")
		}
		seen[*r] = true
		const scatter = 1.1 // of two measurements
		if r.Share = share(row); r.Share > scatter && faster == "" {
			faster = fmt.Sprintf("%s: %s runs at %.3g times its speed alone beside %s: are the times beside and alone exchanged?", row.Source(), r.Job, r.Share, r.Beside)
		}
		rows = append(rows, *r)
		return nil
	})
	if warnings = t.Unknown(append(data.ColumnNames[Measured](), "steps_per_s", "alone_steps_per_s")); faster != "" {
		warnings = append(warnings, faster)
	}
	return rows, warnings, err
}

// share returns the speed beside the other over the speed alone.
func share(row *data.Row) float64 {
	given, alone := data.NonNegative("a number"), data.Positive("a number")
	switch {
	case row.Cell("share") != "":
		return row.Number("share", 0, given)
	case row.Cell("steps_per_s") != "":
		return row.Number("steps_per_s", 0, given) / row.Required("alone_steps_per_s", alone)
	case row.Cell("step_time_s") != "":
		return row.Required("alone_step_time_s", alone) / row.Required("step_time_s", alone)
	}
	row.Fail("share", "nothing", "share, or steps_per_s, or step_time_s, each of the latter with its alone_ column; 0 where they do not fit")
	return 0
}

// Measured is a row with its step times.
type Measured struct {
	Row
	StepTime float64 `json:"step_time_s" csv:"step_time_s" is:"positive" keep:""` // s; 0 if the two do not fit
	Alone    float64 `json:"alone_step_time_s" csv:"alone_step_time_s" is:"positive" keep:""`
}

// Write writes a table for [Read].
func Write(w io.Writer, rows []Measured) error { return data.WriteTable(w, "pairs", rows, Read) }
