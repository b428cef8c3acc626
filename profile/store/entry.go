package store

import (
	"bytes"
	"encoding/json"
	"fmt"
	"hash/crc32"
	"math"
	"regexp"
	"strings"
	"time"

	"knee/data"
	"knee/profile/meter"
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
	Curve       []curvePoint      `json:"curve,omitempty"`
	Queued      float64           `json:"queued_s,omitempty"` // s waiting for nodes, not in wall_s

	// In an outbox: the storage, the study in it, the profiler, and goptuna's trial.
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

// problem is what is wrong with an entry; measurements are checked like rows of a file.
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

// studyMark is what must not change between runs, since it would change measurements.
type studyMark struct {
	Job     string            `json:"job"`
	Command []string          `json:"command"`
	Env     map[string]string `json:"env,omitempty"`
	Initial float64           `json:"initial_batch,omitempty"`
}

func markOf(s *data.Study) studyMark {
	return studyMark{Job: s.Job, Command: s.Command, Env: s.Env, Initial: s.Batch.Initial}
}

// difference returns the first difference of two marks, or empty.
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

// onLine writes a value as JSON, with & and < as they are; empty ones as "nothing".
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

// curvePoint holds the numbers of a curve point in the journal that are known.
type curvePoint map[string]float64

func numbersOf(p *data.CurvePoint) map[string]*float64 {
	return map[string]*float64{"step": &p.Step, "loss": &p.Loss, "global_batch": &p.GlobalBatch, "grad_sqr": &p.GradSqr, "grad_var": &p.GradVar}
}

func encodeCurve(curve []data.CurvePoint) []curvePoint {
	out := make([]curvePoint, len(curve))
	for i := range curve {
		out[i] = curvePoint{}
		for name, v := range numbersOf(&curve[i]) {
			if !math.IsNaN(*v) {
				out[i][name] = *v
			}
		}
	}
	return out
}

func decodeCurve(job string, trial int, points []curvePoint) []data.CurvePoint {
	curve := make([]data.CurvePoint, len(points))
	for i, p := range points {
		curve[i] = meter.EmptyPoint(job, trial)
		for name, v := range numbersOf(&curve[i]) {
			if known, ok := p[name]; ok {
				*v = known
			}
		}
	}
	return curve
}

// castagnoli detects every error of up to five bits in a line, and bursts of up to 32 (Koopman,
// "32-bit cyclic redundancy codes for Internet applications", DSN 2002, table 1).
var castagnoli = crc32.MakeTable(crc32.Castagnoli)

var sealPattern = regexp.MustCompile(`,"sum":"[0-9a-f]{8}"\}`)

const sealLength = len(`,"sum":"01234567"}`)

// seal returns the line of an entry with a checksum over the study's mark and it.
func seal(e entry, study studyMark) ([]byte, error) {
	e.Sum = ""
	line, err := json.Marshal(e)
	if err != nil {
		return nil, err
	}
	line = line[:len(line)-1] // the closing brace
	return fmt.Appendf(line, `,"sum":"%08x"}`, checksum(study, line)), nil
}

// sealed reports whether a line has a checksum, and whether it is right.
func sealed(line []byte, study studyMark) (has, right bool) {
	at := len(line) - sealLength
	if at < 0 || !sealPattern.Match(line[at:]) {
		return false, false
	}
	return true, string(line[at:]) == fmt.Sprintf(`,"sum":"%08x"}`, checksum(study, line[:at]))
}

func checksum(study studyMark, line []byte) uint32 {
	return crc32.Update(crc32.Checksum([]byte(onLine(study)), castagnoli), castagnoli, line)
}

// unseal decodes a line, without checking its sum; an unknown key is an error.
func unseal(line []byte) (entry, error) {
	var e entry
	d := json.NewDecoder(bytes.NewReader(line))
	d.DisallowUnknownFields()
	if err := d.Decode(&e); err != nil {
		return entry{}, err
	}
	if d.More() {
		return entry{}, fmt.Errorf("more than one object")
	}
	if e.Config != nil {
		foldGPUType(e.Config)
	}
	if e.Measurement != nil {
		foldGPUType(&e.Measurement.Config)
	}
	return e, nil
}

// foldGPUType converts the GPU type, as earlier versions did not.
func foldGPUType(c *data.Config) { c.GPUType = data.GPUTypeOf(c.GPUType) }

// pieces splits a line after each checksum, and drops bytes between.
func pieces(line []byte) [][]byte {
	var out [][]byte
	for {
		at := sealPattern.FindIndex(line)
		if at == nil {
			break
		}
		piece := line[:at[1]]
		if begin := bytes.LastIndex(piece, []byte(`{"event":`)); begin > 0 {
			piece = piece[begin:]
		}
		out = append(out, piece)
		line = line[at[1]:]
	}
	if len(line) > 0 {
		out = append(out, line)
	}
	return out
}
