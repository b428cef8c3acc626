package simulate

import (
	"encoding/csv"
	"fmt"
	"io"
	"strconv"

	"knee/data"
)

// WriteRows writes CSV; what is written is named in errors.
func WriteRows(w io.Writer, what string, header []string, rows [][]string) error {
	if err := csv.NewWriter(w).WriteAll(append([][]string{header}, rows...)); err != nil {
		return fmt.Errorf("write %s: %w", what, err)
	}
	return nil
}

// readRuns reads rows that begin with policy and workload into a T for each run,
// in order of appearance.
func readRuns[T any](r io.Reader, name string, columns []string, begin func(policy, workload string) T, add func(*T, *data.Row)) ([]T, error) {
	var out []T
	at := map[[2]string]int{}
	err := data.EachRow(r, name, columns, func(row *data.Row) error {
		run := [2]string{row.Text("policy"), row.Text("workload")}
		if _, known := at[run]; !known {
			at[run] = len(out)
			out = append(out, begin(run[0], run[1]))
		}
		add(&out[at[run]], row)
		return nil
	})
	if err != nil {
		return nil, err
	}
	return out, nil
}

// Exact writes a number with all of its digits.
func Exact(x float64) string { return strconv.FormatFloat(x, 'g', -1, 64) }
