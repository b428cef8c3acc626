package predict

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"

	"knee/data"
	"knee/fit"
	"knee/internal/parallel"
)

// Method is how [Validate] chooses the measurements to hold out.
type Method string

// The methods of validation.
const (
	// KFold divides the configurations of every group at random into folds, and
	// predicts each fold from the others.
	KFold Method = "folds"
	// LeaveOneOut predicts every configuration from all others.
	LeaveOneOut Method = "leave-one-out"
	// Forward predicts the larger half of the worker counts of every group from
	// the smaller half, like a user who measures small and trains large. Random
	// folds mostly interpolate, so their errors are smaller.
	Forward Method = "forward"
	// HeldOut predicts the measurements given as test from all others.
	HeldOut Method = "test"
)

// DefaultFolds is the default number of folds of [KFold].
const DefaultFolds = 10

// ValidationSettings controls [Validate]. The zero value is the default.
type ValidationSettings struct {
	Method   Method   // empty: HeldOut if there is a test set, else KFold
	Folds    int      // of KFold; 0: [DefaultFolds], at most the number of configurations
	Families []string // of speed models, as in [fit.Settings]; empty: auto only
	Seed     int64    // of the folds and of the draws behind the intervals
	// Progress, if set, is called after every fit, by one goroutine at a time.
	Progress func(done, total int)
}

// Residual is a held-out measurement and its prediction.
type Residual struct {
	Measured     data.Measurement
	Family       string        // as asked for, such as auto
	Predicted    data.Estimate // s per step, from the measurements that were not held out
	Extrapolated bool          // outside the range of the measurements fitted
	Support      int           // measurements fitted of its GPU type and mode
}

// Error is the relative error of the prediction, predicted/measured − 1.
func (r Residual) Error() float64 { return r.Predicted.Mean/r.Measured.StepTime - 1 }

// Covered reports whether the 90 % interval contains the measurement.
func (r Residual) Covered() bool {
	return r.Predicted.Lo <= r.Measured.StepTime && r.Measured.StepTime <= r.Predicted.Hi
}

// Untested counts held-out measurements that could not be predicted.
type Untested struct {
	Family  string    `json:"family"`
	Job     string    `json:"job"`
	GPUType string    `json:"gpu_type"`
	Mode    data.Mode `json:"mode"`
	Rows    int       `json:"rows"`
	Why     string    `json:"why"`
}

// Kind names the GPU type and mode.
func (u Untested) Kind() string { return data.Config{GPUType: u.GPUType, Mode: u.Mode}.Kind() }

// Validation is the result of [Validate].
type Validation struct {
	Method    Method
	Families  []string
	Residuals []Residual // by job, family and fold
	Untested  []Untested
	Warnings  []string
}

// Validate holds measurements out and predicts them from the others. Every job
// is fitted separately. Repeated measurements of one configuration are held out
// together, as each would reveal the others. Measurements that are not ok are
// skipped.
//
// It fails with a *data.InputError if no measurement is ok, if there are fewer
// configurations than folds, if a family is unknown, or if no held-out
// measurement could be predicted; with the error of a fit; and with the error
// of ctx. The same input and seed give the same result.
func Validate(ctx context.Context, ms, test []data.Measurement, s ValidationSettings) (*Validation, error) {
	if err := s.check(test); err != nil {
		return nil, err
	}
	v := &Validation{Method: s.method(test), Families: s.families()}
	tasks, err := v.plan(ms, test, s)
	if err != nil {
		return nil, err
	}
	if err := runAll(ctx, tasks, s); err != nil {
		return nil, err
	}
	for _, t := range tasks {
		v.Residuals = append(v.Residuals, t.residuals...)
		v.Untested = addUntested(v.Untested, t.untested)
	}
	if len(v.Residuals) == 0 {
		found := "nothing to hold out"
		if len(v.Untested) > 0 {
			found = fmt.Sprintf("%d measurements of %s, %s", v.Untested[0].Rows, v.Untested[0].Kind(), v.Untested[0].Why)
		}
		return nil, &data.InputError{Source: data.Source{Column: "measurements"}, Found: found,
			Want: "at least one measurement that the others can predict"}
	}
	return v, nil
}

// method returns the method, with its default filled in.
func (s ValidationSettings) method(test []data.Measurement) Method {
	switch {
	case s.Method != "":
		return s.Method
	case len(test) > 0:
		return HeldOut
	}
	return KFold
}

func (s ValidationSettings) families() []string {
	if len(s.Families) == 0 {
		return []string{fit.Auto}
	}
	return slices.Clone(s.Families)
}

// check refuses unknown or inconsistent settings.
func (s ValidationSettings) check(test []data.Measurement) error {
	known := append([]string{fit.Auto}, fit.FamilyNames()...)
	for i, f := range s.families() {
		if !slices.Contains(known, f) || slices.Contains(s.families()[:i], f) {
			return &data.InputError{Source: data.Source{Column: "family"}, Found: fmt.Sprintf("%q", f),
				Want: fmt.Sprintf("each at most once, of %v", known)}
		}
	}
	switch m := s.method(test); {
	case !slices.Contains([]Method{KFold, LeaveOneOut, Forward, HeldOut}, m):
		return &data.InputError{Source: data.Source{Column: "method"}, Found: fmt.Sprintf("%q", m), Want: "folds, leave-one-out, forward or test"}
	case (m == HeldOut) != (len(test) > 0):
		return &data.InputError{Source: data.Source{Column: "test"}, Found: fmt.Sprintf("%d test measurements with method %s", len(test), m),
			Want: "test measurements with method test and no other"}
	case s.Folds != 0 && m != KFold, s.Folds < 0 || s.Folds == 1:
		return &data.InputError{Source: data.Source{Column: "folds"}, Found: fmt.Sprintf("%d with method %s", s.Folds, m),
			Want: "at least 2, with method folds"}
	}
	return nil
}

// trial is one fit and the measurements it predicts.
type trial struct {
	job, family string
	fold        fold
	fits        func([]data.Measurement) []data.Measurement // keeps the modes that the family describes
	residuals   []Residual
	untested    []Untested
}

// plan lists the fits of all jobs and families.
func (v *Validation) plan(ms, test []data.Measurement, s ValidationSettings) ([]*trial, error) {
	rows, jobs := okRows(ms)
	if len(jobs) == 0 {
		return nil, &data.InputError{Source: data.Source{Column: "status"},
			Found: fmt.Sprintf("%d measurements, none of them ok", len(ms)), Want: "at least one with status ok"}
	}
	held, heldJobs := okRows(test)
	if len(test) > 0 && len(heldJobs) == 0 {
		return nil, &data.InputError{Source: data.Source{Column: "status"},
			Found: fmt.Sprintf("%d test measurements, none of them ok", len(test)), Want: "at least one with status ok"}
	}
	var tasks []*trial
	for _, job := range jobs {
		folds, warnings, err := split(rows[job], held[job], v.Method, s)
		if err != nil {
			return nil, err
		}
		v.Warnings = append(v.Warnings, warnings...)
		for _, family := range v.Families {
			fits, unfit := describes(rows[job], family)
			v.Untested = addUntested(v.Untested, unfit)
			for _, f := range folds {
				tasks = append(tasks, &trial{job: job, family: family, fold: f, fits: fits})
			}
		}
	}
	for _, job := range heldJobs {
		if _, trained := rows[job]; !trained {
			for _, family := range v.Families {
				v.Untested = addUntested(v.Untested, untested(held[job], family, "the job was never trained on"))
			}
		}
	}
	return tasks, nil
}

// okRows groups the ok measurements by job, jobs in order of appearance.
func okRows(ms []data.Measurement) (byJob map[string][]data.Measurement, jobs []string) {
	byJob = map[string][]data.Measurement{}
	for _, m := range ms {
		if m.Status != data.OK {
			continue
		}
		if _, seen := byJob[m.Job]; !seen {
			jobs = append(jobs, m.Job)
		}
		byJob[m.Job] = append(byJob[m.Job], m)
	}
	return byJob, jobs
}

// describes returns a filter for measurements in modes that a family supports,
// and counts the others. Each mode is tested by a fit of one row.
func describes(rows []data.Measurement, family string) (fits func([]data.Measurement) []data.Measurement, others []Untested) {
	refused := map[data.Mode]bool{}
	for _, m := range rows {
		mode := m.ModeOrDefault()
		if _, tried := refused[mode]; !tried {
			_, err := fit.Fit([]data.Measurement{m}, fit.Settings{Family: family})
			var input *data.InputError
			refused[mode] = errors.As(err, &input) && input.Column == "family"
		}
	}
	fits = func(ms []data.Measurement) []data.Measurement {
		if !slices.Contains(slices.Collect(maps.Values(refused)), true) {
			return ms
		}
		return slices.DeleteFunc(slices.Clone(ms), func(m data.Measurement) bool { return refused[m.ModeOrDefault()] })
	}
	rest := slices.DeleteFunc(slices.Clone(rows), func(m data.Measurement) bool { return !refused[m.ModeOrDefault()] })
	return fits, untested(rest, family, "a mode the family does not describe")
}

// runAll runs the fits on all processors.
func runAll(ctx context.Context, tasks []*trial, s ValidationSettings) error {
	var mu sync.Mutex
	done := 0
	return parallel.Each(len(tasks), 1, func() func(i int) error {
		return func(i int) error {
			if err := tasks[i].run(ctx, s.Seed); err != nil {
				return fmt.Errorf("%s, family %s: %w", tasks[i].job, tasks[i].family, err)
			}
			mu.Lock()
			defer mu.Unlock()
			done++
			if s.Progress != nil {
				s.Progress(done, len(tasks))
			}
			return nil
		}
	})
}

// run fits to the training measurements and predicts the others.
func (t *trial) run(ctx context.Context, seed int64) error {
	train, test := t.fold()
	train, test = t.fits(train), t.fits(test)
	if len(test) == 0 {
		return nil
	}
	if len(train) == 0 {
		t.untested = untested(test, t.family, "nothing was left to train on")
		return nil
	}
	m, err := fit.FitContext(ctx, train, fit.Settings{Family: t.family, Seed: seed})
	if err != nil {
		return err
	}
	trained := map[kind]bool{}
	for _, row := range train {
		trained[kindOf(row.Config)] = true
	}
	known := make([]data.Measurement, 0, len(test))
	for _, row := range test {
		if trained[kindOf(row.Config)] {
			known = append(known, row)
			continue
		}
		t.untested = addUntested(t.untested, untested([]data.Measurement{row}, t.family, "GPU type and mode were never trained on"))
	}
	for rows := range slices.Chunk(known, testedAtOnce) {
		if err := ctx.Err(); err != nil {
			return err
		}
		cs := make([]data.Config, len(rows))
		for i, row := range rows {
			cs[i] = row.Config
		}
		ps, err := m.PredictAll(cs)
		if err != nil {
			return fmt.Errorf("measurements from %s on: %w", rows[0].Source, err)
		}
		for i, row := range rows {
			t.residuals = append(t.residuals, Residual{Measured: row, Family: t.family, Predicted: ps[i].StepTime, Extrapolated: ps[i].Extrapolated, Support: ps[i].Support})
		}
	}
	return nil
}

// testedAtOnce is the number of measurements predicted together, to share
// common terms, between checks of ctx.
const testedAtOnce = 4096

// untested counts measurements by GPU type and mode.
func untested(ms []data.Measurement, family, why string) []Untested {
	var all []Untested
	for _, m := range ms {
		all = addUntested(all, []Untested{{family, m.Job, m.GPUType, m.ModeOrDefault(), 1, why}})
	}
	return all
}

// addUntested adds counts to those of the same kind.
func addUntested(all, more []Untested) []Untested {
	for _, u := range more {
		same := func(o Untested) bool { o.Rows = u.Rows; return o == u }
		if i := slices.IndexFunc(all, same); i >= 0 {
			all[i].Rows += u.Rows
			continue
		}
		all = append(all, u)
	}
	return all
}
