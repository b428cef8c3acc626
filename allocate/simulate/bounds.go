package simulate

import (
	"fmt"
	"strings"

	"knee/data"
)

// workerCount are the numbers of workers that a workload may ask for.
func workerCount() data.Bounds {
	return data.Bounds{What: "a whole number of workers", Min: 1, Max: 1e6, Whole: true}
}

// parseBounds reads the columns elastic, opportunistic, workers_min and
// workers_max.
func parseBounds(j *Job, row *data.Row) {
	j.Rigid, j.Opportunistic = !yes(row, "elastic", true), yes(row, "opportunistic", false)
	j.WorkersMin = int(row.Number("workers_min", 0, workerCount()))
	j.WorkersMax = int(row.Number("workers_max", 0, workerCount()))
	j.Logical = int(row.Number("logical_workers", 0, workerCount()))
	switch {
	case j.WorkersMax > 0 && j.WorkersMin > j.WorkersMax:
		row.Bad("workers_max", fmt.Sprintf("at least workers_min, %d", j.WorkersMin))
	case j.Rigid && j.Workers == 0:
		row.Bad("workers", "the workers of a job that is not elastic")
	case j.Workers > 0 && (j.Workers < j.WorkersMin || j.WorkersMax > 0 && j.Workers > j.WorkersMax):
		row.Bad("workers", fmt.Sprintf("workers_min to workers_max, %d to %d", j.WorkersMin, j.WorkersMax))
	}
}

// yes reads a column of true or false; empty is the value of an empty cell.
func yes(row *data.Row, column string, empty bool) bool {
	switch strings.ToLower(row.Cell(column)) {
	case "":
		return empty
	case "true", "yes", "1":
		return true
	case "false", "no", "0":
		return false
	}
	row.Bad(column, "true or false")
	return empty
}

// Bounded reports whether the owner of a job limits its size.
func (j *Job) Bounded() bool {
	return j.Rigid || j.Opportunistic || j.WorkersMin > 0 || j.WorkersMax > 0 || j.Logical > 0
}

// Divides reports whether a job may run on so many GPUs for its logical workers.
func (j *Job) Divides(gpus int) bool { return j.Logical == 0 || gpus > 0 && j.Logical%gpus == 0 }

// fates are the words of published traces for how a job ended.
var fates = map[string]Fate{
	"": Completes, "completed": Completes, "done": Completes, "pass": Completes, "passed": Completes, "terminated": Completes,
	"failed": Fails, "killed": Cancelled, "cancelled": Cancelled, "canceled": Cancelled, "unconverged": Unconverged,
}

// parseFate reads how a job ends: status, declared, ends_at, cancel_after_s.
func parseFate(j *Job, row *data.Row) {
	var known bool
	if j.Fate, known = fates[strings.ToLower(row.Cell("status"))]; !known {
		row.Bad("status", "completed, failed, cancelled or unconverged, or nothing")
	}
	j.Declared = row.Number("declared", 0, data.NonNegative("the unit of the work"))
	j.CancelAfter = row.Number("cancel_after_s", 0, data.Seconds())
	share := data.Bounds{What: "a share", Min: 0, Max: 1, Want: "a share of the declared work, above 0 and up to 1"}
	if j.EndsAt = row.Number("ends_at", 0, share); j.EndsAt > 0 {
		j.Declared = j.Work
		j.Work *= j.EndsAt
	}
}

// Unfinished reports whether a job may end without completing, or at other work
// than declared.
func (j *Job) Unfinished() bool {
	return j.Declared > 0 || j.CancelAfter > 0 || j.Fate != "" && j.Fate != Completes
}
