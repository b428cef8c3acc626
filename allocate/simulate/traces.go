package simulate

import (
	"cmp"
	"encoding/csv"
	"encoding/json"
	"errors"
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

// cells are a line of a table without a header. The first error is kept.
type cells struct {
	of      []string // the columns
	text    []string
	src     data.Source
	problem error
}

func (c *cells) cell(column string) string { return c.text[slices.Index(c.of, column)] }

func (c *cells) number(column string, b data.Bounds) float64 {
	text := c.cell(column)
	x, ok := b.Parse(text)
	if !ok && c.problem == nil {
		at := c.src
		at.Column = column
		c.problem = &data.InputError{Source: at, Found: strconv.Quote(text), Want: b.Instead(text)}
	}
	return x
}

// eachLine calls do with the lines of a table without a header; what names the table.
func eachLine(r io.Reader, name, what string, separator rune, columns []string, do func(*cells)) error {
	in := csv.NewReader(r)
	in.Comma, in.FieldsPerRecord, in.LazyQuotes = separator, -1, true
	for {
		text, err := in.Read()
		switch {
		case errors.Is(err, io.EOF):
			return nil
		case err != nil:
			return fmt.Errorf("%s: %w", name, err)
		}
		line, _ := in.FieldPos(0)
		c := &cells{of: columns, text: text, src: data.Source{File: name, Line: line}}
		if len(text) != len(columns) {
			return &data.InputError{Source: c.src, Found: fmt.Sprintf("%d fields", len(text)), Want: fmt.Sprintf("the %d of %s", len(columns), what)}
		}
		if do(c); c.problem != nil {
			return c.problem
		}
	}
}

// gavelColumns are those of a trace of Gavel (Narayanan et al., OSDI 2020).
var gavelColumns = []string{"job_type", "command", "working_directory", "steps_argument", "needs_data", "total_steps", "scale_factor",
	"priority_weight", "slo", "arrival_time"}

// gavelBatch finds the batch in a job type such as "ResNet-18 (batch size 64)".
var gavelBatch = regexp.MustCompile(`\(batch size ([0-9]+)\)`)

// isGavel reports whether a line is one of a Gavel trace, not the header of another workload
// separated by tabs.
func isGavel(line string) bool {
	cells := strings.Split(strings.ToLower(strings.TrimSpace(line)), "\t")
	header := slices.ContainsFunc(cells, func(c string) bool {
		return slices.Contains(submission, strings.Trim(c, "\ufeff\" ")) // without a byte order mark and quotes
	})
	return len(cells) > len(gavelColumns)/2 && !header
}

// readGavel reads a Gavel trace. Work is steps, at one per second unless their speed is
// measured.
func readGavel(r io.Reader, name string) (jobs []Job, err error) {
	err = eachLine(r, name, "a Gavel trace, separated by tabs", '\t', gavelColumns, func(c *cells) {
		j := Job{Name: strconv.Itoa(len(jobs)), Application: strings.TrimSpace(c.cell("job_type")), Steps: true, Source: c.src,
			Work: c.number("total_steps", data.Positive("steps")), Workers: int(c.number("scale_factor", workerCount())),
			Weight: c.number("priority_weight", data.NonNegative("a number")), Submit: c.number("arrival_time", data.Seconds())}
		if m := gavelBatch.FindStringSubmatch(j.Application); m != nil {
			j.Batch, _ = data.Samples().Parse(m[1])
		}
		jobs = append(jobs, j)
	})
	return jobs, err
}

// alibabaColumns are those of pai_task_table of the Alibaba PAI traces (Weng et al.,
// NSDI 2022).
var alibabaColumns = []string{"job_name", "task_name", "inst_num", "status", "start_time", "end_time", "plan_cpu", "plan_mem", "plan_gpu", "gpu_type"}

// isAlibaba reports whether a line is one of pai_task_table, or the header that copies have.
func isAlibaba(line string) bool {
	cells := strings.Split(strings.TrimSpace(line), ",")
	return len(cells) == len(alibabaColumns) && slices.Contains([]string{"Terminated", "Failed", "Running", "Waiting", "status"}, cells[3])
}

// readAlibaba reads pai_task_table. A job is its tasks together: on as many GPUs as their
// instances hold (100 of plan_gpu is one; parts are rounded up), from the first start to
// the last end. Jobs without GPUs, and those that had not ended, are left out, with a
// warning.
func readAlibaba(r io.Reader, name string) (jobs []Job, warnings []string, err error) {
	at, names, types, ends := map[string]int{}, map[string]bool{}, map[string]bool{}, []float64{}
	err = eachLine(r, name, "pai_task_table", ',', alibabaColumns, func(c *cells) {
		job, status := c.cell("job_name"), c.cell("status")
		if c.src.Line == 1 && status == "status" { // a header
			return
		}
		names[job], types[c.cell("gpu_type")] = true, true
		num := func(column string, most float64) float64 {
			if c.cell(column) == "" {
				return 0
			}
			return c.number(column, data.Bounds{Max: most, Want: fmt.Sprintf("a number from 0 to %g, or nothing", most)})
		}
		instances, from, to, gpus := num("inst_num", 1e6), num("start_time", 1e12), num("end_time", 1e12), num("plan_gpu", 1e5)
		fate, ended := fates[strings.ToLower(status)]
		if !ended || gpus == 0 || from == 0 || to <= from {
			return
		}
		n, known := at[job]
		if !known {
			n = len(jobs)
			at[job], ends = n, append(ends, to)
			jobs = append(jobs, Job{Name: cmp.Or(job, strconv.Itoa(n)), Application: c.cell("task_name"), Submit: from, Seconds: true, Source: c.src, Fate: Completes})
		}
		j := &jobs[n]
		j.Workers += int(math.Ceil(instances * gpus / 100))
		j.Submit, ends[n] = min(j.Submit, from), max(ends[n], to)
		if fate != Completes {
			j.Fate = fate
		}
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
