package simulate

import (
	"bufio"
	"cmp"
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"knee/data"
)

// workloadRow is a row of a workload: its columns, and their names in published ones.
type workloadRow struct {
	Name          string  `csv:"job,name,job_id" keep:""`
	Submit        float64 `csv:"submit_s,time,submit_time,submit_time_s,submission_time" is:"seconds" by:"hand" required:"true" keep:"0"`
	Application   string  `csv:"application,model_name" keep:""`
	Workers       int     `csv:"workers,num_replicas,num_gpu,num_gpus,gpu_num,gpus" max:"1e6" keep:"0"`
	Duration      float64 `csv:"duration_s,duration" is:"not negative" of:"seconds" keep:"0"`
	Samples       float64 `csv:"samples,work" is:"not negative" of:"a number"`
	Batch         float64 `csv:"global_batch,batch_size" is:"not negative" of:"a number"`
	GPUType       string  `csv:"gpu_type"`
	TotalSteps    float64 `csv:"total_steps,steps" is:"not negative" of:"a number"`
	Plan          string  `csv:"exec_plan"`
	FixedLayout   string  `csv:"fixed_layout"`
	Weight        float64 `csv:"weight" is:"positive" of:"a number"`
	Elastic       string  `csv:"elastic"`
	Opportunistic string  `csv:"opportunistic"`
	WorkersMin    int     `csv:"workers_min,min_workers" min:"1" max:"1e6"`
	WorkersMax    int     `csv:"workers_max,max_workers" min:"1" max:"1e6"`
	Logical       int     `csv:"logical_workers" min:"1" max:"1e6"`
	Tenant        string  `csv:"tenant,vc,user"`
	Declared      float64 `csv:"declared,declared_s" is:"not negative" of:"the unit of the work"`
	Fate          Fate    `csv:"status,state"`
	EndsAt        float64 `csv:"ends_at" is:"part" of:"a share of the declared work, above 0 and up to 1"`
	CancelAfter   float64 `csv:"cancel_after_s" is:"positive seconds"`
}

// ReadWorkload reads a workload in one of these formats, recognised by its beginning:
//
//   - a trace of Gavel: tabs, no header;
//   - cluster_job_log of Philly: JSON;
//   - pai_task_table of Alibaba: CSV without a header;
//   - CSV with one job per row and a header, columns in any order, under the names of [workloadRow]
//     (docs/formats.md). The warnings name unknown columns, and say so if every duration is
//     taken to be that on one GPU, as there is no column of workers.
//
// Submissions are seconds, or points in time, counted from the first. Work is in samples.
// A duration_s without samples becomes seconds of work at one sample per second on the
// requested workers, see [RigidOptions]. A job without a name is named by its number. name is
// the file, for errors.
func ReadWorkload(r io.Reader, name string) (jobs []Job, warnings []string, err error) {
	b := bufio.NewReader(r)
	head, _ := b.Peek(4096) // a shorter text will do
	line, _, _ := strings.Cut(string(head), "\n")
	switch {
	case isGavel(line):
		jobs, err = readGavel(b, name)
		return jobs, nil, err
	case strings.HasPrefix(strings.TrimSpace(string(head)), "["):
		return readPhilly(b, name)
	case isAlibaba(line):
		return readAlibaba(b, name)
	}
	t, err := data.NewTable(b, name)
	if err != nil {
		return nil, nil, err
	}
	seen, clock, without, idle := map[string]int{}, 0, 0, 0
	err = data.EachOf(t, func(row *data.Row, x *workloadRow) error {
		if x.Workers == 0 && row.Cell("workers") != "" {
			without++
			return nil
		}
		// An application may have measured work; a trace of durations has jobs that never ran.
		if x.Application == "" && row.Cell("duration_s") != "" && x.Duration+x.Samples+x.TotalSteps == 0 {
			idle++
			return nil
		}
		j := parseJob(row, x, len(jobs))
		at, isClock := clockTime(row.Cell("submit_s"))
		if j.Submit = at; isClock {
			clock++
		} else {
			j.Submit = row.Required("submit_s", data.Seconds())
		}
		if clock > 0 && clock <= len(jobs) {
			row.Bad("submit_s", "times such as 2026-01-01 10:00:00 in all rows, or seconds in all")
		}
		if first, ok := seen[j.Name]; ok {
			row.Fail("job", fmt.Sprintf("%q, as in line %d", j.Name, first), "a name for each job")
		}
		seen[j.Name] = row.Line
		jobs = append(jobs, j)
		return nil
	})
	if err != nil {
		return nil, nil, err
	}
	if clock > 0 {
		jobs = fromFirst(jobs)
	}
	warnings = append(t.Unknown(data.ColumnNames[workloadRow]()), leftOut(name, without, "they have no GPU")...)
	warnings = append(warnings, leftOut(name, idle, "they never ran on a GPU")...)
	if !t.Has("workers") && slices.ContainsFunc(jobs, func(j Job) bool { return j.Seconds && j.Work > 0 }) {
		warnings = append(warnings, name+": no column workers: every job is timed on one GPU")
	}
	return jobs, warnings, nil
}

// clockTime reads a point in time as seconds since 1970.
func clockTime(cell string) (seconds float64, ok bool) {
	for _, layout := range []string{time.RFC3339, time.DateTime, "2006-01-02T15:04:05"} {
		if at, err := time.Parse(layout, cell); err == nil {
			return float64(at.UnixNano()) / 1e9, true
		}
	}
	return 0, false
}

func parseJob(row *data.Row, x *workloadRow, n int) Job {
	j := Job{Source: row.Source(), Name: cmp.Or(x.Name, strconv.Itoa(n)), Application: x.Application, Tenant: x.Tenant, Batch: x.Batch, Weight: x.Weight,
		Workers: x.Workers, Work: cmp.Or(x.Samples, x.Duration), Seconds: x.Samples == 0, TotalSteps: x.TotalSteps, GPUType: data.GPUTypeOf(x.GPUType),
		Rigid: !yes(row, "elastic", true), Opportunistic: yes(row, "opportunistic", false), WorkersMin: x.WorkersMin, WorkersMax: x.WorkersMax, Logical: x.Logical,
		Declared: x.Declared, EndsAt: x.EndsAt, CancelAfter: x.CancelAfter}
	if x.Samples > 0 {
		j.PerSample = x.Duration / x.Samples
	}
	parsePlan(&j, row, x.Plan)
	checkBounds(&j, row)
	var known bool
	status, _, _ := strings.Cut(strings.ToLower(string(x.Fate)), " by ") // Slurm: CANCELLED by 1000
	if j.Fate, known = fates[status]; !known {
		row.Bad("status", "completed, failed, cancelled or unconverged, or nothing")
	}
	if j.EndsAt > 0 {
		if all := cmp.Or(j.Work, j.TotalSteps); j.Declared > 0 && all > 0 && math.Abs(j.Declared/all-1) > 1e-9 {
			row.Bad("declared", fmt.Sprintf("the work of the row, %g, or nothing, as ends_at is a share of that", all))
		}
		j.Declared = j.Work
		j.Work *= j.EndsAt
	}
	return j
}

// LoadServiceTimes reads the column duration of a CSV file: whole GPU-seconds that jobs need.
func LoadServiceTimes(path string) (out []int64, err error) {
	err = data.LoadRows(path, []string{"duration"}, func(row *data.Row) error {
		out = append(out, int64(row.Required("duration", data.Bounds{What: "GPU-seconds", Min: 1, Max: 1e15, Want: "GPU-seconds ≥ 1"})))
		return nil
	})
	return out, err
}

// parsePlan reads the layout a job asks for, in the words of the workloads of Rubick
// (Zhang et al., MLSys 2025): ga (data parallelism), gc (with recomputation), zero-dp,
// zero-offload, or three digits, of pipeline stages, tensor- and data-parallel degree.
func parsePlan(j *Job, row *data.Row, plan string) {
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

func checkBounds(j *Job, row *data.Row) {
	switch {
	case j.WorkersMax > 0 && j.WorkersMin > j.WorkersMax:
		row.Bad("workers_max", fmt.Sprintf("at least workers_min, %d", j.WorkersMin))
	case j.Rigid && j.Workers == 0:
		row.Bad("workers", "the workers of a job that is not elastic")
	case j.Workers > 0 && !j.Divides(j.Workers):
		row.Bad("workers", fmt.Sprintf("a number that divides logical_workers, %d", j.Logical))
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

// Bounded reports whether the owner of a job limits its size or GPU type.
func (j *Job) Bounded() bool {
	return j.GPUType != "" || j.Rigid || j.Opportunistic || j.WorkersMin > 0 || j.WorkersMax > 0 || j.Logical > 0
}

// Divides reports whether a job may run on so many GPUs for its logical workers.
func (j *Job) Divides(gpus int) bool { return j.Logical == 0 || gpus > 0 && j.Logical%gpus == 0 }

// fates are the words of published traces and of Slurm for how a job ended.
var fates = map[string]Fate{
	"": Completes, "completed": Completes, "done": Completes, "pass": Completes, "passed": Completes, "terminated": Completes,
	"failed": Fails, "timeout": Fails, "node_fail": Fails, "out_of_memory": Fails, "boot_fail": Fails, "deadline": Fails,
	"killed": Cancelled, "cancelled": Cancelled, "canceled": Cancelled, "preempted": Cancelled, "unconverged": Unconverged,
}

// Unfinished reports whether a job may end without completing, or at other work than
// declared.
func (j *Job) Unfinished() bool {
	return j.EndsAt > 0 && j.EndsAt < 1 || j.Declared > 0 && j.Declared != j.Work || j.CancelAfter > 0 || j.Fate != "" && j.Fate != Completes
}
