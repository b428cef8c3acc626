package simulate

import (
	"fmt"
	"math"
	"strconv"
	"strings"

	"knee/data"
)

// mostWorkers bounds what a workload may ask for.
const mostWorkers = 1e6

// parseBounds reads what a policy may do with a job: elastic, workers_min and
// workers_max. text returns a field of the row, "" where there is none.
func parseBounds(j *Job, text func(field string) string) error {
	bad := func(column, want string) error {
		src := j.Source
		src.Column = column
		return &data.InputError{Source: src, Found: strconv.Quote(text(column)), Want: want}
	}
	switch strings.ToLower(text("elastic")) {
	case "", "true", "yes", "1":
	case "false", "no", "0":
		j.Rigid = true
	default:
		return bad("elastic", "true or false")
	}
	for _, f := range []struct {
		column string
		to     *int
	}{{"workers_min", &j.WorkersMin}, {"workers_max", &j.WorkersMax}} {
		s := text(f.column)
		if s == "" {
			continue
		}
		x, err := strconv.ParseFloat(s, 64)
		if err != nil || !(x >= 1 && x <= mostWorkers) || x != math.Trunc(x) {
			return bad(f.column, "a whole number of workers, 1 to 1000000")
		}
		*f.to = int(x)
	}
	switch {
	case j.WorkersMax > 0 && j.WorkersMin > j.WorkersMax:
		return bad("workers_max", fmt.Sprintf("at least workers_min, %d", j.WorkersMin))
	case j.Rigid && j.Workers == 0:
		return bad("workers", "the workers of a job that is not elastic")
	case j.Workers > 0 && (j.Workers < j.WorkersMin || j.WorkersMax > 0 && j.Workers > j.WorkersMax):
		return bad("workers", fmt.Sprintf("workers_min to workers_max, %d to %d", j.WorkersMin, j.WorkersMax))
	}
	return nil
}

// Bounded reports whether the owner of a job said what a policy may do with
// its size.
func (j *Job) Bounded() bool { return j.Rigid || j.WorkersMin > 0 || j.WorkersMax > 0 }
