package store

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"knee/data"
)

// entry is one line of the journal, and a database's record of an ended trial.
type entry struct {
	Event       string            `json:"event"` // study, start, submitted, end
	Version     int               `json:"version,omitempty"`
	Run         int               `json:"run,omitempty"`
	Study       *studyMark        `json:"study,omitempty"`
	Trial       int               `json:"trial,omitempty"`
	Attempt     int               `json:"attempt,omitempty"`
	Handle      string            `json:"handle,omitempty"` // of an engine
	Config      *data.Config      `json:"config,omitempty"`
	At          time.Time         `json:"at,omitzero"`
	Measurement *data.Measurement `json:"measurement,omitempty"`
	Curve       []curveEntry      `json:"curve,omitempty"`
	Queued      float64           `json:"queued_s,omitempty"` // s waiting for nodes, not in wall_s

	// In an outbox, where the entry belongs: the storage, the study in it, the
	// profiler, and goptuna's trial.
	Storage string `json:"storage,omitempty"`
	StudyID int    `json:"study_id,omitempty"`
	Owner   string `json:"owner,omitempty"`
	TrialID int    `json:"trial_id,omitempty"`

	Sum string `json:"sum,omitempty"` // see seal
}

func (e entry) result(at data.Source) Result {
	m := *e.Measurement
	m.Source = at
	return Result{Trial: e.Trial, Measurement: m, Curve: decodeCurve(m.Job, e.Trial, e.Curve), Queued: time.Duration(e.Queued * float64(time.Second))}
}

func endEntry(r Result) entry {
	return entry{Event: "end", Trial: r.Trial, Measurement: &r.Measurement, Curve: encodeCurve(r.Curve), Queued: r.Queued.Seconds()}
}

// problem returns what is wrong with an entry as part of a study, empty if
// nothing is. A measurement is checked like a row of measurements.csv.
func (e entry) problem(job string) string {
	switch {
	case e.Trial < 1:
		return fmt.Sprintf("trial %d", e.Trial)
	case e.Event == "submitted" && e.Handle != "" && e.Attempt > 0:
		return ""
	case e.Event == "start" && e.Config != nil:
		return measurementProblem(data.Measurement{Config: *e.Config, Status: data.Aborted}, job)
	case e.Event == "end" && e.Measurement != nil:
		if e.Queued < 0 {
			return fmt.Sprintf("queued_s %g", e.Queued)
		}
		return measurementProblem(*e.Measurement, job)
	}
	return fmt.Sprintf("event %q is incomplete", e.Event)
}

func measurementProblem(m data.Measurement, job string) string {
	if m.Job != job {
		return fmt.Sprintf("job %q", m.Job)
	}
	var row bytes.Buffer
	err := data.WriteMeasurements(&row, []data.Measurement{m})
	if err == nil {
		_, _, err = data.ReadMeasurements(&row, "")
	}
	if err == nil {
		return ""
	}
	return strings.TrimLeft(err.Error(), ":0123456789")
}

// studyMark is what must not change between runs of a study, since it would
// change the measurements. Space and budget may change.
type studyMark struct {
	Job     string            `json:"job"`
	Command []string          `json:"command"`
	Env     map[string]string `json:"env,omitempty"`
	Initial float64           `json:"initial_batch,omitempty"`
}

func markOf(s *data.Study) studyMark {
	return studyMark{Job: s.Job, Command: s.Command, Env: s.Env, Initial: s.Batch.Initial}
}

// difference returns the first difference of two marks, before and after, or
// empty.
func (was studyMark) difference(is studyMark) (found, want string) {
	for _, part := range []struct {
		name    string
		was, is any
	}{{"job", was.Job, is.Job}, {"command", was.Command, is.Command}, {"env", was.Env, is.Env}, {"batch.initial", was.Initial, is.Initial}} {
		old, now := onLine(part.was), onLine(part.is)
		if old != now {
			return fmt.Sprintf("measurements with %s %s", part.name, old), fmt.Sprintf("those with %s", now)
		}
	}
	return "", ""
}

// onLine writes a value as JSON, with & and < as they are; empty ones as
// "nothing".
func onLine(v any) string {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	_ = e.Encode(v) // strings and numbers, which cannot fail
	text := strings.TrimSpace(b.String())
	if text == "null" || text == "{}" || text == "[]" {
		return "nothing"
	}
	return text
}
