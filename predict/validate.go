package predict

import (
	"context"
	"fmt"
	"slices"
	"sync"

	"github.com/dustin/go-humanize/english"

	"knee/data"
	"knee/fit"
	"knee/fit/speed/form"
	"knee/internal/grouped"
	"knee/internal/parallel"
)

// Method is how [Validate] chooses the measurements to hold out.
type Method string

// The methods of validation.
const (
	// KFold predicts random folds of the configurations of every group from the others.
	KFold Method = "folds"
	// LeaveOneOut predicts every configuration from all others.
	LeaveOneOut Method = "leave-one-out"
	// Forward predicts the larger half of the worker counts of every group from the smaller,
	// like a user. Random folds mostly interpolate, so their errors are smaller.
	Forward Method = "forward"
	// HeldOut predicts the measurements given as test from all others.
	HeldOut Method = "test"
)

// Defaults of knee validate: the number of folds of [KFold], and the seed.
const (
	DefaultFolds = 10
	DefaultSeed  = 1
)

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

// Validate holds measurements that are ok out and predicts them from the others of the job.
// Those of one configuration are held out together, as each would reveal the others. The
// same input and seed give the same result.
//
// It fails with a *data.InputError if no measurement is ok, if there are fewer
// configurations than folds, if a family is unknown, or if none could be predicted; with
// the error of a fit; and with that of ctx.
func Validate(ctx context.Context, ms, test []data.Measurement, s ValidationSettings) (*Validation, error) {
	if len(s.Families) == 0 {
		s.Families = []string{fit.Auto}
	}
	if s.Method == "" {
		s.Method = KFold
		if len(test) > 0 {
			s.Method = HeldOut
		}
	}
	if err := s.check(test); err != nil {
		return nil, err
	}
	v := &Validation{Method: s.Method, Families: s.Families}
	trials, err := v.plan(ms, test, s)
	if err != nil {
		return nil, err
	}
	if err := runAll(ctx, trials, s); err != nil {
		return nil, err
	}
	for _, t := range trials {
		v.Residuals, v.Untested = append(v.Residuals, t.residuals...), append(v.Untested, t.untested...)
	}
	v.Untested = counted(v.Untested)
	if len(v.Residuals) == 0 {
		found := "nothing to hold out"
		if len(v.Untested) > 0 {
			found = fmt.Sprintf("%s of %s: %s", english.Plural(v.Untested[0].Rows, "measurement", ""), v.Untested[0].Kind(), v.Untested[0].Why)
		}
		return nil, data.Invalid("measurements", found, "at least one measurement that the others can predict")
	}
	return v, nil
}

func (s ValidationSettings) check(test []data.Measurement) error {
	known := append([]string{fit.Auto}, fit.FamilyNames()...)
	for i, f := range s.Families {
		if !slices.Contains(known, f) || slices.Contains(s.Families[:i], f) {
			return data.Invalid("family", fmt.Sprintf("%q", f), fmt.Sprintf("each at most once, of %v", known))
		}
	}
	switch {
	case !slices.Contains([]Method{KFold, LeaveOneOut, Forward, HeldOut}, s.Method):
		return data.Invalid("method", fmt.Sprintf("%q", s.Method), "folds, leave-one-out, forward or test")
	case (s.Method == HeldOut) != (len(test) > 0):
		return data.Invalid("test", fmt.Sprintf("%d test measurements with method %s", len(test), s.Method), "test measurements with method test and no other")
	case s.Folds != 0 && s.Method != KFold, s.Folds < 0 || s.Folds == 1:
		return data.Invalid("folds", fmt.Sprintf("%d with method %s", s.Folds, s.Method), "at least 2, with method folds")
	}
	return nil
}

// trial is one fit and the measurements it predicts.
type trial struct {
	job, family string
	rows        []data.Measurement
	held        fold
	refused     []data.Mode // that the family does not describe
	residuals   []Residual
	untested    []Untested
}

func (v *Validation) plan(ms, test []data.Measurement, s ValidationSettings) ([]*trial, error) {
	rows, held := okRows(ms), okRows(test)
	if len(rows) == 0 {
		return nil, data.Invalid("status", fmt.Sprintf("%d measurements, none of them ok", len(ms)), "at least one with status ok")
	}
	if len(test) > 0 && len(held) == 0 {
		return nil, data.Invalid("status", fmt.Sprintf("%d test measurements, none of them ok", len(test)), "at least one with status ok")
	}
	jobOf := func(m data.Measurement) string { return m.Job }
	_, measured := grouped.By(rows, jobOf)
	jobs, all := grouped.By(slices.Concat(rows, held), jobOf)
	var trials []*trial
	for _, job := range jobs {
		folds, warnings, err := foldsOf(measured[job], s)
		if err != nil {
			return nil, err
		}
		v.Warnings = append(v.Warnings, warnings...)
		for _, family := range v.Families {
			refused := refusedModes(all[job], family)
			for _, f := range folds {
				trials = append(trials, &trial{job: job, family: family, rows: all[job], held: f, refused: refused})
			}
		}
	}
	return trials, nil
}

func okRows(ms []data.Measurement) []data.Measurement {
	return slices.DeleteFunc(slices.Clone(ms), func(m data.Measurement) bool { return m.Status != data.OK })
}

// refusedModes lists the modes of a job that a family does not describe.
func refusedModes(rows []data.Measurement, family string) (refused []data.Mode) {
	modes, of := grouped.By(rows, func(m data.Measurement) data.Mode { return m.ModeOrDefault() })
	for _, mode := range modes {
		layouts := !of[mode][0].Plain() && family != form.LayoutFamily
		if family != fit.Auto && (layouts || !slices.Contains(form.Families()[family].Modes, mode)) {
			refused = append(refused, mode)
		}
	}
	return refused
}

func runAll(ctx context.Context, trials []*trial, s ValidationSettings) error {
	var mu sync.Mutex
	done := 0
	return parallel.Each(len(trials), 1, func() func(i int) error {
		return func(i int) error {
			if err := trials[i].run(ctx, s.Seed); err != nil {
				return fmt.Errorf("%s, family %s: %w", trials[i].job, trials[i].family, err)
			}
			mu.Lock()
			defer mu.Unlock()
			done++
			if s.Progress != nil {
				s.Progress(done, len(trials))
			}
			return nil
		}
	})
}

// run fits to the training measurements and predicts the others.
func (t *trial) run(ctx context.Context, seed int64) error {
	train, test := t.divide()
	_, trained := grouped.By(train, data.Measurement.Kind)
	var known []data.Measurement
	for _, r := range test {
		why := ""
		switch {
		case slices.Contains(t.refused, r.ModeOrDefault()):
			why = "a mode the family does not describe"
		case trained[r.Kind()] == nil:
			why = "none of that GPU type and mode is trained on"
		default:
			known = append(known, r)
			continue
		}
		t.untested = append(t.untested, Untested{t.family, r.Job, r.GPUType, r.ModeOrDefault(), 1, why})
	}
	if len(known) == 0 {
		return nil
	}
	m, err := fit.FitContext(ctx, train, fit.Settings{Family: t.family, Seed: seed, HeldOut: known})
	if err != nil {
		return err
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

// divide returns the measurements to fit and those to predict.
func (t *trial) divide() (train, test []data.Measurement) {
	for i, r := range t.rows {
		if t.held(i) {
			test = append(test, r)
		} else if !slices.Contains(t.refused, r.ModeOrDefault()) {
			train = append(train, r)
		}
	}
	return train, test
}

// testedAtOnce is the measurements predicted together, between checks of ctx.
const testedAtOnce = 4096

// counted adds up the rows of equal entries.
func counted(all []Untested) (sums []Untested) {
	keys, groups := grouped.By(all, func(u Untested) Untested { return u })
	for _, k := range keys {
		k.Rows = len(groups[k])
		sums = append(sums, k)
	}
	return sums
}
