package simulate

import (
	"cmp"
	"encoding/csv"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"knee/data"
)

// phillyJob is an entry of cluster_job_log of the Philly traces (Jeon et al.,
// USENIX ATC 2019).
type phillyJob struct {
	Status    string `json:"status"`
	VC        string `json:"vc"`
	Job       string `json:"jobid"`
	Submitted string `json:"submitted_time"`
	Attempts  []struct {
		Start  string `json:"start_time"`
		End    string `json:"end_time"`
		Detail []struct {
			GPUs []string `json:"gpus"`
		} `json:"detail"`
	} `json:"attempts"`
}

// leftOut warns of jobs of a trace that cannot be replayed.
func leftOut(name string, n int, why string) []string {
	if n == 0 {
		return nil
	}
	return []string{fmt.Sprintf("%s: left out %d of the jobs: %s", name, n, why)}
}

// readPhilly reads cluster_job_log. A job is its attempts one after the other,
// on the GPUs of the widest; jobs that never ran are left out, with a warning.
// Times count from the first submission.
func readPhilly(r io.Reader, name string) ([]Job, []string, error) {
	var all []phillyJob
	if err := json.NewDecoder(r).Decode(&all); err != nil {
		return nil, nil, &data.InputError{Source: data.Source{File: name}, Found: err.Error(), Want: "cluster_job_log of the Philly traces"}
	}
	var jobs []Job
	for i, p := range all {
		var err error
		bad := func(field, found, want string) {
			if err == nil {
				err = &data.InputError{Source: data.Source{File: name, Column: fmt.Sprintf("[%d].%s", i, field)}, Found: strconv.Quote(found), Want: want}
			}
		}
		at := func(field, text string) float64 {
			t, wrong := time.Parse(time.DateTime, strings.TrimSuffix(strings.TrimSuffix(text, " PST"), " PDT"))
			if wrong != nil {
				bad(field, text, "a time such as 2017-10-03 14:07:00")
			}
			return float64(t.Unix())
		}
		fate, known := fates[strings.ToLower(p.Status)]
		if !known {
			bad("status", p.Status, "Pass, Killed or Failed")
		}
		j := Job{Name: cmp.Or(p.Job, strconv.Itoa(i)), Tenant: p.VC, Fate: fate, Submit: at("submitted_time", p.Submitted), Seconds: true, Source: data.Source{File: name, Line: 1}}
		for _, a := range p.Attempts {
			if a.Start == "" || a.End == "" || a.Start == "None" || a.End == "None" {
				continue
			}
			gpus := 0
			for _, d := range a.Detail {
				gpus += len(d.GPUs)
			}
			from := at("start_time", a.Start)
			j.Work += max(0, at("end_time", a.End)-from)
			j.Workers = max(j.Workers, gpus)
		}
		if err != nil {
			return nil, nil, err
		}
		if j.Work > 0 && j.Workers > 0 {
			jobs = append(jobs, j)
		}
	}
	return fromFirst(jobs), leftOut(name, len(all)-len(jobs), "they never ran on a GPU"), nil
}

// alibabaTask is the number of columns of pai_task_table of the Alibaba PAI
// traces (Weng et al., NSDI 2022), which has no header: job_name, task_name,
// inst_num, status, start_time, end_time, plan_cpu, plan_mem, plan_gpu,
// gpu_type.
const alibabaTask = 10

// isAlibaba reports whether a line is one of pai_task_table, or its header in copies
// that have one.
func isAlibaba(line string) bool {
	cells := strings.Split(strings.TrimSpace(line), ",")
	return len(cells) == alibabaTask && slices.Contains([]string{"Terminated", "Failed", "Running", "Waiting", "status"}, cells[3])
}

// readAlibaba reads pai_task_table. A job is its tasks together: on as many
// GPUs as their instances hold (100 of plan_gpu is one; parts are rounded up),
// from the first start to the last end. Jobs without GPUs, and those that had
// not ended, are left out, with a warning.
func readAlibaba(r io.Reader, name string) ([]Job, []string, error) {
	c := csv.NewReader(r)
	c.FieldsPerRecord = alibabaTask
	at, names, types, ends := map[string]int{}, map[string]bool{}, map[string]bool{}, []float64{}
	var jobs []Job
	for {
		f, err := c.Read()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return nil, nil, &data.InputError{Source: data.Source{File: name}, Found: err.Error(), Want: "the 10 columns of pai_task_table"}
		}
		line, _ := c.FieldPos(0)
		if line == 1 && f[3] == "status" { // a header
			continue
		}
		names[f[0]], types[f[9]] = true, true
		src := data.Source{File: name, Line: line}
		num := func(i int, column string, most float64) float64 {
			x, ok := data.Bounds{What: "a number", Max: most}.Parse(f[i])
			if !ok && f[i] != "" && err == nil {
				src.Column = column
				err = &data.InputError{Source: src, Found: strconv.Quote(f[i]), Want: fmt.Sprintf("a number from 0 to %g, or nothing", most)}
			}
			return x
		}
		instances, from, to, gpus := num(2, "inst_num", 1e6), num(4, "start_time", 1e12), num(5, "end_time", 1e12), num(8, "plan_gpu", 1e5)
		if err != nil {
			return nil, nil, err
		}
		fate, ended := fates[strings.ToLower(f[3])]
		if !ended || gpus == 0 || from == 0 || to <= from {
			continue
		}
		n, known := at[f[0]]
		if !known {
			n = len(jobs)
			at[f[0]] = n
			jobs, ends = append(jobs, Job{Name: cmp.Or(f[0], strconv.Itoa(n)), Application: f[1], Submit: from, Seconds: true, Source: src, Fate: Completes}), append(ends, to)
		}
		j := &jobs[n]
		j.Workers += int(math.Ceil(instances * gpus / 100))
		j.Submit, ends[n] = min(j.Submit, from), max(ends[n], to)
		if fate != Completes {
			j.Fate = fate
		}
	}
	for i := range jobs {
		jobs[i].Work = ends[i] - jobs[i].Submit
	}
	warnings := leftOut(name, len(names)-len(jobs), "they have no GPU, or had not ended")
	if len(types) > 1 {
		warnings = append(warnings, name+": gpu_type is not used: a job takes as long on any type as it did on its own")
	}
	return fromFirst(jobs), warnings, nil
}

// fromFirst makes submissions count from the first.
func fromFirst(jobs []Job) []Job {
	first := math.Inf(1)
	for _, j := range jobs {
		first = min(first, j.Submit)
	}
	for i := range jobs {
		jobs[i].Submit -= first
	}
	return jobs
}
