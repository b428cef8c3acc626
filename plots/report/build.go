package report

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"knee/data"
	"knee/fit"
)

// Report builds the page: a section for each job, then for each plan and for
// the results of simulations and search benchmarks. Measurements of a job
// without a model are fitted here, with the default settings; the page says
// so. It fails if there is nothing to report on and with the error of ctx.
func (in *Inputs) Report(ctx context.Context) (Report, error) {
	r := Report{Inputs: in.Files, Warnings: slices.Clone(in.Warnings)}
	var about []string
	for _, job := range in.jobs() {
		about = append(about, job.name)
		if err := job.report(ctx, in, &r); err != nil {
			return r, err
		}
	}
	for _, p := range in.Plans {
		in.reportPlan(&r, p)
	}
	for _, t := range in.Tables {
		in.reportResults(&r, t)
	}
	in.reportUsage(&r)
	if len(r.Sections) == 0 {
		return r, &data.InputError{Found: "nothing to report on", Want: "measurements, a model, a training curve, a plan or results of a simulation"}
	}
	r.Title = title(about, r.Sections)
	r.Warnings = compact(r.Warnings)
	return r, nil
}

// title names what the page is about.
func title(jobs []string, sections []Section) string {
	switch {
	case len(jobs) == 0:
		return sections[0].Title
	case len(jobs) > 3:
		return fmt.Sprintf("%d jobs", len(jobs))
	}
	return strings.Join(jobs, ", ")
}

// compact drops repeated texts and keeps the order.
func compact(texts []string) []string {
	var out []string
	for _, t := range texts {
		if !slices.Contains(out, t) {
			out = append(out, t)
		}
	}
	return out
}

// job is everything that is known of one job.
type job struct {
	name         string
	measurements []data.Measurement
	curve        []data.CurvePoint
	model        *fit.Model
	fitted       bool // the model was fitted here
}

// jobs sorts the inputs by job, in order of appearance. A training curve
// without a name belongs to the job if there is one only.
func (in *Inputs) jobs() []*job {
	var all []*job
	find := func(name string) *job {
		for _, j := range all {
			if j.name == name {
				return j
			}
		}
		all = append(all, &job{name: name})
		return all[len(all)-1]
	}
	for _, m := range in.Models {
		find(m.Job()).model = m
	}
	for _, m := range in.Measurements {
		j := find(m.Job)
		j.measurements = append(j.measurements, m)
	}
	for _, p := range in.Curves {
		name := p.Job
		if name == "" && len(all) == 1 {
			name = all[0].name
		}
		j := find(name)
		j.curve = append(j.curve, p)
	}
	for _, j := range all {
		j.complete()
	}
	return all
}

// complete fits a model where there are measurements and none was given.
func (j *job) complete() {
	if j.model != nil || len(j.measurements) == 0 {
		return
	}
	m, err := fit.Fit(j.measurements, fit.Settings{})
	if err != nil {
		return // nothing was measured: the section says so
	}
	if len(j.curve) > 0 {
		_ = m.AddCurve(j.curve, data.Batch{}) // without it the model speaks of speed alone
	}
	j.model, j.fitted = m, true
}

// report adds the section of a job and its conclusions.
func (j *job) report(ctx context.Context, in *Inputs, r *Report) error {
	s := Section{Title: orElse(j.name, "A training run")}
	if j.fitted {
		s.Text = append(s.Text, "No model was given: the figures show one that was fitted to the measurements for this page.")
	}
	if j.model != nil {
		r.Warnings = append(r.Warnings, j.model.Warnings()...)
		if err := j.reportModel(ctx, in, r, &s); err != nil {
			return err
		}
	}
	j.reportCurve(&s)
	j.reportTrials(r, &s)
	if err := j.reportBelief(ctx, in, &s); err != nil {
		return err
	}
	r.Sections = append(r.Sections, s)
	return nil
}

func orElse(s, otherwise string) string {
	if s == "" {
		return otherwise
	}
	return s
}
