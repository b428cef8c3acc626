package queue

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"io"
	"math"
	"time"

	"knee/data"
	"knee/operate/check"
	"knee/profile/joblog"
	"knee/profile/launch"
	"knee/profile/meter"
)

// mostRead is the most bytes of a log read at once: it may be long at first.
const mostRead = 16 << 20

// longestLog is the time limit of reading one log: its stream may not end.
const longestLog = time.Minute

// Reading is how far the log of a job was read, and its steps so far: each look at the
// queue measures the steps since the last one, on the job's present nodes.
type Reading struct {
	Nodes   []data.NodeShare `json:"nodes"` // where the job ran
	Started time.Time        `json:"started"`
	Offset  int64            `json:"offset"`  // bytes of the log whose steps were counted
	Since   time.Time        `json:"since"`   // when they were counted
	Unread  int64            `json:"unread"`  // bytes after Offset, with too few steps to count
	Step    float64          `json:"step"`    // the last in the log
	Told    time.Time        `json:"told"`    // when the log was last found longer
	Pace    float64          `json:"pace_s"`  // seconds between lines with a step; 0: not known
	Best    float64          `json:"best_s"`  // shortest measured step time on these nodes, s; 0: none
	Counted float64          `json:"counted"` // the step at Since; 0: none counted on these nodes
	// Looks, Wall and Spread are number, mean and sum of squared deviations of ln
	// (seconds per step on the clock, pauses between steps included), one value for
	// each look since the job started on these nodes.
	Looks  float64 `json:"looks"`
	Wall   float64 `json:"wall"`
	Spread float64 `json:"spread"`
}

// tick adds one look: the seconds per step on the clock since the last one.
func (r *Reading) tick(step float64, now time.Time) {
	if seconds := now.Sub(r.Since).Seconds(); r.Counted > 0 && step > r.Counted && seconds > 0 {
		x := math.Log(seconds / (step - r.Counted))
		r.Looks++
		off := x - r.Wall
		r.Wall += off / r.Looks
		r.Spread += off * (x - r.Wall)
	}
	r.Counted = step
}

// observe reads the new lines in the log of a job. A waiting job may have no log,
// and a job that has reported steps may report no new ones.
func (v View) observe(ctx context.Context, s Scheduler, row *Row) error {
	r := v.Readings[row.ID]
	if r == nil {
		r = &Reading{}
		if v.Readings != nil {
			v.Readings[row.ID] = r
		}
	}
	row.Reading, row.Step = r, r.Step
	moved := !r.Started.Equal(row.Started) || !data.SameNodes(r.Nodes, row.Nodes)
	path := row.Rule.LogOf(map[string]string{"id": row.ID, "name": row.Name, "namespace": row.Namespace, "user": row.User})
	since := r.Since
	if moved {
		since = row.Started
	}
	if since.After(v.Now) { // the clock of the scheduler is ahead
		since = v.Now
	}
	ctx, cancel := context.WithTimeout(ctx, longestLog)
	defer cancel()
	in, err := s.Log(ctx, row.Job, path, since)
	if err != nil {
		if row.State != Running {
			err = nil
		}
		return err
	}
	defer in.Close()
	text, whole, err := fresh(in, r)
	if err != nil {
		return err
	}
	if moved {
		// Lines after those counted may be from the former nodes.
		whole = whole && (r.Nodes == nil && row.Restarts == 0 || r.Nodes != nil && r.Offset == 0)
		*r = Reading{Nodes: row.Nodes, Started: row.Started, Offset: r.Offset, Since: since, Step: r.Step, Told: v.Now}
	}
	return v.take(row, text, !moved || whole)
}

// fresh returns the complete lines after those counted. whole is false if some between
// were skipped (mostRead). Offset is reset to 0 if the log has become shorter.
func fresh(in io.Reader, r *Reading) (text []byte, whole bool, err error) {
	whole = true
	if file, ok := in.(io.Seeker); ok {
		end, err := file.Seek(0, io.SeekEnd)
		if err != nil {
			return nil, false, err
		}
		if end < r.Offset {
			r.Offset, r.Unread = 0, 0
		}
		if end-r.Offset > mostRead {
			r.Offset, whole = end-mostRead, false
		}
		if _, err := file.Seek(r.Offset, io.SeekStart); err != nil {
			return nil, false, err
		}
	} else {
		r.Offset = 0
	}
	text, err = io.ReadAll(io.LimitReader(in, mostRead))
	return text[:bytes.LastIndexByte(text, '\n')+1], whole, err
}

// take parses lines, and counts their steps if they suffice for a measurement;
// else the next look reads them again.
func (v View) take(row *Row, text []byte, measurable bool) error {
	r := row.Reading
	if news := int64(len(text)) > r.Unread; news {
		r.Told = v.Now
	}
	r.Unread = int64(len(text))
	c := row.Config()
	var steps check.Recorder
	lines := 0
	p, err := joblog.Read(bytes.NewReader(text), cmp.Or(row.Log, row.Name), c, row.Rule.Metrics, func(o launch.Observation) { lines++; steps.Add(o) })
	enough := measurable && p.Measurement.Steps >= meter.FewestSteps
	if lasted := v.Now.Sub(r.Since).Seconds(); enough && lasted > 0 {
		r.Pace = lasted / float64(lines)
	}
	if enough && p.Step > 0 {
		r.tick(p.Step, v.Now)
	}
	if enough || !measurable {
		r.Offset, r.Since, r.Unread = r.Offset+int64(len(text)), v.Now, 0
	}
	var input *data.InputError
	if errors.As(err, &input) && (row.State != Running || r.Step > 0 && lines == 0) {
		return nil
	}
	if p.Step > 0 {
		r.Step, row.Step = p.Step, p.Step
	}
	if enough && row.State == Running {
		row.Measured, row.Steps = p.Measurement, steps.Steps()
		row.StepTime, row.StepSE = p.Measurement.StepTime, p.Measurement.StepTimeSE
	}
	return err
}

// Config returns the configuration in which a job with a rule runs.
func (row *Row) Config() data.Config {
	c := data.Config{Job: row.Name, GPUType: row.GPUType, Workers: max(1, Workers(row.Nodes)), Placement: data.PlacementOf(row.Nodes)}
	if c.Nodes = len(c.Placement); row.Rule.Batch.Initial > 0 {
		c.LocalBatch = row.Rule.Batch.Initial / float64(c.Workers)
	}
	return c
}
