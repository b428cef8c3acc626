package simulate

import (
	"fmt"

	"knee/data"
)

// parsePlan reads the layout a job asks for, in the words of the workloads of
// Rubick (Zhang et al., MLSys 2025): ga (data parallelism), gc (with
// recomputation), zero-dp, zero-offload, or three digits, of pipeline stages,
// tensor- and data-parallel degree.
func parsePlan(j *Job, row *data.Row) {
	plan := row.Cell("exec_plan")
	var l data.Layout
	switch plan {
	case "":
	case "ga":
	case "gc":
		l.Recompute = "full"
	case "zero-dp":
		l.Sharding = "zero2"
	case "zero-offload":
		l.Sharding, l.Offload = "zero2", "optimizer"
	default:
		var pp, tp, dp int
		if n, err := fmt.Sscanf(plan, "%1d%1d%1d", &pp, &tp, &dp); err != nil || n != 3 || len(plan) != 3 || min(pp, tp, dp) < 1 {
			row.Bad("exec_plan", "ga, gc, zero-dp, zero-offload, or the digits of pipeline stages, tensor- and data-parallel degree")
			return
		}
		if pp*tp*dp != j.Workers {
			row.Bad("exec_plan", fmt.Sprintf("degrees whose product is the %d GPUs of the job", j.Workers))
		}
		if tp > 1 {
			l.TP = tp
		}
		if pp > 1 {
			l.PP = pp
		}
	}
	if plan != "" {
		j.Layout = &l
	}
	if j.FixedLayout = yes(row, "fixed_layout", false); j.FixedLayout && j.Layout == nil {
		row.Bad("fixed_layout", "false where exec_plan names no layout")
	}
}
