package learn

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"knee/data"
	"knee/fit"
	"knee/operate/queue"
)

// Models keeps the jobs' own models: a file for each in a folder, and beside it
// the measurements of the job.
type Models struct {
	Folder string
	Rules  []data.JobRule // their models are the cluster prior of a fit
	// Most is how many fits are left in this turn; the next turn makes more. 0: none.
	Most int

	Updates  []Update // of this turn
	Warnings []string
	read     map[string]*fit.Model // by path; nil if a file cannot be read
}

// Kinds of updates.
const (
	Refit    = "refit"    // the job was measured outside the interval of its model
	Borrowed = "borrowed" // it had no model; its few measurements are joined with those of other jobs
)

// Update is a new or refitted model of a single job.
type Update struct {
	Job       string        `json:"job"` // id
	Name      string        `json:"name"`
	Kind      string        `json:"kind"`
	Config    string        `json:"config"` // the measured one
	Measured  float64       `json:"measured_s"`
	Predicted data.Estimate `json:"predicted_s"`    // before; zero without a model
	Now       data.Estimate `json:"now_s"`          // after
	From      []string      `json:"from,omitempty"` // jobs whose measurements it borrows
	Model     string        `json:"model"`          // path
}

// Of returns the path of the model to plan a job with, empty if there is none: its own,
// else that of its rule, else the last of a job of the same rule. If what was measured
// lies outside the model's interval, the job first gets a new model of its own.
func (m *Models) Of(ctx context.Context, row *queue.Row) string {
	path := m.Find(row)
	if row.Measured.StepTime <= 0 {
		return path
	}
	u, err := m.update(ctx, row, path)
	switch {
	case ctx.Err() != nil:
	case err != nil:
		m.Warnings = append(m.Warnings, fmt.Sprintf("the model of job %s is unchanged: %v", row.ID, err))
	case u != nil:
		m.Updates, path = append(m.Updates, *u), u.Model
	}
	return path
}

// Find is [Models.Of] without an update.
func (m *Models) Find(row *queue.Row) string {
	for _, path := range []string{m.path(row.ID), row.Rule.Model, m.path(family(row.Rule))} {
		if path != "" && m.model(path) != nil {
			return path
		}
	}
	return row.Rule.Model // planning fails, and says why
}

func (m *Models) path(id string) string { return filepath.Join(m.Folder, url.PathEscape(id)+".json") }

func (m *Models) rows(id string) string {
	return strings.TrimSuffix(m.path(id), ".json") + ".measurements.csv"
}

// family is the file name of the last model of a rule's jobs: a hash of what the
// rule matches.
func family(r *data.JobRule) string {
	return fmt.Sprintf("rule-%x", sha256.Sum256([]byte(fmt.Sprint(r.Match))))[:21]
}

// model reads a model once, nil if it cannot be read.
func (m *Models) model(path string) *fit.Model {
	if m.read == nil {
		m.read = map[string]*fit.Model{}
	}
	known, ok := m.read[path]
	if !ok {
		var err error
		if known, err = fit.ReadModel(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
			m.Warnings = append(m.Warnings, err.Error())
		}
		m.read[path] = known
	}
	return known
}

// update refits the model of a job if what was measured lies outside the predicted
// interval, unless Most fits were made.
func (m *Models) update(ctx context.Context, row *queue.Row, path string) (*Update, error) {
	u := &Update{Job: row.ID, Name: row.Name, Kind: Borrowed, Config: row.Measured.Config.String(), Measured: row.StepTime, Model: m.path(row.ID)}
	before := m.model(path)
	measured := row.Measured
	if before != nil {
		u.Kind, measured.Job = Refit, before.Job()
		if p, err := before.Predict(measured.Config); err == nil {
			if u.Predicted = p.StepTime; !drifted(measured, p.StepTime) {
				return nil, nil
			}
		}
	}
	if m.Most--; m.Most < 0 {
		return nil, nil
	}
	own, err := m.own(row.ID, measured)
	if err != nil {
		return nil, err
	}
	after, err := m.fit(ctx, before, own)
	if err != nil {
		return nil, err
	}
	p, err := after.Predict(measured.Config)
	if err != nil {
		return nil, err
	}
	u.Now, u.From = p.StepTime, after.Borrowed(measured.GPUType, after.Modes(measured.GPUType)[0])
	return u, m.save(row, after, own)
}

// own returns the measurements of a job, the latest of each configuration.
func (m *Models) own(id string, latest data.Measurement) ([]data.Measurement, error) {
	rows, _, err := data.LoadMeasurements(m.rows(id))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	return append(without(rows, []data.Measurement{latest}), latest), nil
}

// save writes the model of a job, and if its rule names none also for later jobs of the rule.
func (m *Models) save(row *queue.Row, after *fit.Model, own []data.Measurement) error {
	if err := os.MkdirAll(m.Folder, 0o755); err != nil {
		return err
	}
	err := data.WriteFile(m.rows(row.ID), func(w io.Writer) error { return data.WriteMeasurements(w, own) })
	ids := []string{row.ID}
	if row.Rule.Model == "" {
		ids = append(ids, family(row.Rule))
	}
	for _, id := range ids {
		err = errors.Join(err, fit.WriteModel(m.path(id), after))
		m.read[m.path(id)] = after
	}
	return err
}

// Forget removes the models of a job that has left the queue.
func (m *Models) Forget(id string) error {
	var all []error
	for _, path := range []string{m.path(id), m.rows(id)} {
		if err := os.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
			all = append(all, err)
		}
	}
	return errors.Join(all...)
}

// without returns the rows whose configuration is not in measured.
func without(rows, measured []data.Measurement) []data.Measurement {
	return slices.DeleteFunc(rows, func(r data.Measurement) bool {
		return slices.ContainsFunc(measured, func(m data.Measurement) bool { return sameSize(r.Config, m.Config) })
	})
}

// sameSize reports whether two configurations are equal, apart from the job's
// name and from a placement that only one has.
func sameSize(a, b data.Config) bool {
	return a.GPUType == b.GPUType && a.Workers == b.Workers && a.LocalBatch == b.LocalBatch && a.ModeOrDefault() == b.ModeOrDefault() && a.PS == b.PS &&
		(len(a.Placement) == 0 || len(b.Placement) == 0 || slices.Equal(a.Placement, b.Placement))
}
