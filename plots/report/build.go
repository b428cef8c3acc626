package report

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/dustin/go-humanize/english"

	"knee/data"
	"knee/fit"
	"knee/fit/convergence"
	"knee/internal/grouped"
	"knee/internal/list"
	"knee/plots"
	"knee/predict"
)

// Report builds the page: a section for each job, then plans and results of simulations and
// search benchmarks. A job without a model is fitted here, and the page says so. It fails
// if there is nothing to report on and with the error of ctx.
func (in *Inputs) Report(ctx context.Context) (Report, error) {
	jobs := in.jobs()
	r := Report{Inputs: in.Files, Warnings: slices.Clone(in.Warnings)}
	shown, others := shownJobs(jobs)
	for _, job := range shown {
		if err := job.complete(ctx, in.studyOf(job).Batch); err != nil {
			return r, err
		}
		if err := job.report(ctx, in, &r); err != nil {
			return r, err
		}
	}
	reportOthers(&r, others)
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
	r.Title = title(jobs, r.Sections)
	r.Warnings, _ = grouped.By(r.Warnings, func(w string) string { return w })
	texts, of := grouped.By(r.doubts, func(d doubt) string { return d.text })
	for _, text := range texts {
		names := list.Map(of[text], func(d doubt) string { return d.job })
		if n := len(names); n > 3 {
			names = append(names[:2], fmt.Sprintf("%d more", n-2))
		}
		r.Warnings = append(r.Warnings, english.WordSeries(names, "and")+": "+text)
	}
	return r, nil
}

// title names what the page is about.
func title(jobs []*job, sections []Section) string {
	switch {
	case len(jobs) == 0:
		return sections[0].Title
	case len(jobs) > 3:
		return fmt.Sprintf("%d jobs", len(jobs))
	}
	return strings.Join(list.Map(jobs, func(j *job) string { return j.name }), ", ")
}

// job is everything that is known of one job.
type job struct {
	name         string
	measurements []data.Measurement
	curve        []data.CurvePoint
	model        *fit.Model
	fitted       string // what the model was fitted to, if it was fitted here
}

// jobs sorts the inputs by job, in order of appearance. A training curve
// without a name belongs to the job if there is one only.
func (in *Inputs) jobs() []*job {
	var all []*job
	find := func(name string) *job {
		i := slices.IndexFunc(all, func(j *job) bool { return j.name == name })
		if i < 0 {
			i, all = len(all), append(all, &job{name: name})
		}
		return all[i]
	}
	for _, m := range in.Models {
		j := find(m.Job())
		if j.model != nil {
			in.Warnings = append(in.Warnings, cmp.Or(j.name, "the job")+": of several models the last is shown")
		}
		j.model = m
	}
	for _, m := range in.Measurements {
		j := find(m.Job)
		j.measurements = append(j.measurements, m)
	}
	for _, j := range all { // which may be of several files
		slices.SortStableFunc(j.measurements, func(a, b data.Measurement) int { return a.StartedAt.Compare(b.StartedAt) })
	}
	for _, p := range in.Curves {
		name := p.Job
		if name == "" && len(all) == 1 {
			name = all[0].name
		}
		j := find(name)
		j.curve = append(j.curve, p)
	}
	return all
}

// complete fits a model if none was given. Its only error is that of ctx.
func (j *job) complete(ctx context.Context, batch data.Batch) error {
	if j.model != nil || len(j.measurements) == 0 {
		return nil
	}
	m, err := fit.FitContext(ctx, j.measurements, fit.Settings{Seed: predict.DefaultSeed})
	if err != nil {
		return ctx.Err() // nothing was measured: the section says so
	}
	if len(j.curve) > 0 {
		_ = m.AddCurve(j.curve, batch, convergence.Settings{}) // without it the model predicts speed only
	}
	_, _ = m.Compare(ctx) // for its doubts, among the warnings, as knee fit
	j.model, j.fitted = m, "No model was given: the figures show one fitted to the measurements for this page."
	return nil
}

// report adds the section and the answer of a job.
func (j *job) report(ctx context.Context, in *Inputs, r *Report) error {
	s := Section{Title: cmp.Or(j.name, "A training run")}
	if j.fitted != "" {
		s.Text = append(s.Text, j.fitted)
	}
	if j.model != nil {
		for _, w := range j.model.Warnings() {
			r.doubts = append(r.doubts, doubt{cmp.Or(j.name, "the job"), w})
		}
		if err := j.reportModel(ctx, in, r, &s); err != nil {
			return err
		}
	}
	j.reportCurve(&s)
	j.reportTrials(r, &s)
	r.Sections = append(r.Sections, s)
	return nil
}

// Limits of one page. What exceeds them is left out, and the page says so.
const (
	mostRows    = 1000 // of a table
	mostJobs    = 20   // with figures of their own
	mostChecked = 64   // measurements of a job that are predicted from the others
)

// shownJobs returns the jobs with sections, those with most measurements, and the others.
func shownJobs(all []*job) (shown, others []*job) {
	if len(all) <= mostJobs {
		return all, nil
	}
	slices.SortStableFunc(all, func(a, b *job) int { return len(b.measurements) - len(a.measurements) })
	return all[:mostJobs], all[mostJobs:]
}

// reportOthers adds a table of the jobs that get no section.
func reportOthers(r *Report, others []*job) {
	if len(others) == 0 {
		return
	}
	t := newTable("job", "#measurements", "#fastest step (s)", "#most workers")
	for _, j := range others[:min(len(others), mostRows)] {
		fastest, most := math.Inf(1), 0
		for _, m := range j.measurements {
			if m.Status == data.OK {
				fastest, most = math.Min(fastest, m.StepTime), max(most, m.Workers)
			}
		}
		t.row(j.name, len(j.measurements), fastest, most)
	}
	r.Sections = append(r.Sections, Section{Title: fmt.Sprintf("%d more jobs", len(others)),
		Text:   []string{fmt.Sprintf("The %d jobs with most measurements have figures above. For those of another job: knee fit FILE --job NAME, and knee report model.json.", mostJobs)},
		Tables: []Block{{t, cut(len(others), "Jobs"), true}}})
}

// cut adds to a caption that a table has only the first rows.
func cut(rows int, caption string) string {
	if rows <= mostRows {
		return caption
	}
	return fmt.Sprintf("%s: the first %s of %s", caption, plots.Number(mostRows), plots.Number(float64(rows)))
}
