package simulate

import (
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"math"
	"regexp"
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

// readPhilly reads cluster_job_log. A job is its attempts one after the other, on the
// GPUs of the widest; jobs that never ran are left out, with a warning.
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

// gavelRow is a line of a trace of Gavel (Narayanan et al., OSDI 2020).
type gavelRow struct {
	Type      string  `csv:"job_type"`
	Command   string  `csv:"command" by:"hand"`
	Directory string  `csv:"working_directory" by:"hand"`
	Argument  string  `csv:"steps_argument" by:"hand"`
	NeedsData string  `csv:"needs_data" by:"hand"`
	Steps     float64 `csv:"total_steps" is:"positive" of:"steps" required:"true"`
	GPUs      int     `csv:"scale_factor" min:"1" max:"1e6" required:"true"`
	Weight    float64 `csv:"priority_weight" is:"not negative" of:"a number" required:"true"`
	SLO       string  `csv:"slo" by:"hand"`
	Arrival   float64 `csv:"arrival_time" is:"seconds" required:"true"`
}

// gavelBatch finds the batch in a job type such as "ResNet-18 (batch size 64)".
var gavelBatch = regexp.MustCompile(`\(batch size ([0-9]+)\)`)

// isGavel reports whether a line is one of a Gavel trace, not the header of another workload
// separated by tabs.
func isGavel(line string) bool {
	cells := strings.Split(strings.ToLower(strings.TrimSpace(line)), "\t")
	header := slices.ContainsFunc(cells, func(c string) bool {
		return slices.Contains(data.ColumnNames[workloadRow](), strings.Trim(c, "\ufeff\" ")) // without a byte order mark and quotes
	})
	return len(cells) > len(data.ColumnNames[gavelRow]())/2 && !header
}

// readGavel reads a Gavel trace. Work is steps, at one per second unless their speed is
// measured.
func readGavel(r io.Reader, name string) (jobs []Job, err error) {
	err = data.EachLine(r, name, "a Gavel trace, separated by tabs", '\t', func(row *data.Row, g *gavelRow) error {
		j := Job{Name: strconv.Itoa(len(jobs)), Application: g.Type, Steps: true, Source: row.Source(), Work: g.Steps, Workers: g.GPUs, Weight: g.Weight, Submit: g.Arrival}
		if m := gavelBatch.FindStringSubmatch(j.Application); m != nil {
			j.Batch, _ = data.Samples().Parse(m[1])
		}
		jobs = append(jobs, j)
		return nil
	})
	return jobs, err
}

// alibabaRow is a line of pai_task_table of the Alibaba PAI traces (Weng et al., NSDI 2022).
type alibabaRow struct {
	Job       string  `csv:"job_name"`
	Task      string  `csv:"task_name"`
	Instances float64 `csv:"inst_num" is:"up to" of:"1e6"`
	Status    string  `csv:"status"`
	From      float64 `csv:"start_time" is:"up to" of:"1e12"`
	To        float64 `csv:"end_time" is:"up to" of:"1e12"`
	CPU       string  `csv:"plan_cpu" by:"hand"`
	Memory    string  `csv:"plan_mem" by:"hand"`
	GPU       float64 `csv:"plan_gpu" is:"up to" of:"1e5"` // 100 is one
	GPUType   string  `csv:"gpu_type"`
}

// isAlibaba reports whether a line is one of pai_task_table, or the header that copies have.
func isAlibaba(line string) bool {
	cells := strings.Split(strings.TrimSpace(line), ",")
	return len(cells) == len(data.ColumnNames[alibabaRow]()) && slices.Contains([]string{"Terminated", "Failed", "Running", "Waiting", "status"}, cells[3])
}

// readAlibaba reads pai_task_table. A job is its tasks together: on as many GPUs as their
// instances hold (parts are rounded up), from the first start to
// the last end. Jobs without GPUs, and those that had not ended, are left out, with a
// warning.
func readAlibaba(r io.Reader, name string) (jobs []Job, warnings []string, err error) {
	at, names, types, ends := map[string]int{}, map[string]bool{}, map[string]bool{}, []float64{}
	err = data.EachLine(r, name, "pai_task_table", ',', func(row *data.Row, a *alibabaRow) error {
		names[a.Job], types[a.GPUType] = true, true
		fate, ended := fates[strings.ToLower(a.Status)]
		if !ended || a.GPU == 0 || a.From == 0 || a.To <= a.From {
			return nil
		}
		n, known := at[a.Job]
		if !known {
			n = len(jobs)
			at[a.Job], ends = n, append(ends, a.To)
			jobs = append(jobs, Job{Name: cmp.Or(a.Job, strconv.Itoa(n)), Application: a.Task, Submit: a.From, Seconds: true, Source: row.Source(), Fate: Completes})
		}
		j := &jobs[n]
		j.Workers += int(math.Ceil(a.Instances * a.GPU / 100))
		j.Submit, ends[n] = min(j.Submit, a.From), max(ends[n], a.To)
		if fate != Completes {
			j.Fate = fate
		}
		return nil
	})
	for i := range jobs {
		jobs[i].Work = ends[i] - jobs[i].Submit
	}
	warnings = leftOut(name, len(names)-len(jobs), "they have no GPU, or had not ended")
	if len(types) > 1 {
		warnings = append(warnings, name+": gpu_type is not used: a job takes as long on any type as it did on its own")
	}
	return fromFirst(jobs), warnings, err
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
