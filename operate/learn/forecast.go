package learn

import (
	"time"

	"knee/data"
	"knee/operate/queue"
)

// Forecast returns when a running job ends, in seconds from now, if it stays
// where it is: the steps that are left at the step time that its model predicts
// there, and what is left of its restart if it has not told of a step since. It
// is zero if its rule does not count steps or its batch adapts.
func (m *Models) Forecast(row *queue.Row, now time.Time) data.Estimate {
	if row.State != queue.Running || row.Reading == nil || row.Rule.Remaining.Steps == 0 || row.Rule.Batch.Adapt {
		return data.Estimate{}
	}
	known := m.model(m.Find(row))
	if known == nil {
		return data.Estimate{}
	}
	p, err := known.Predict(row.Config())
	if err != nil {
		return data.Estimate{}
	}
	out := p.StepTime.Scale(max(row.Rule.Remaining.Steps-row.Step, 0))
	if since := now.Sub(row.Started).Seconds(); row.StepTime == 0 && row.Restarts > 0 && since < row.Rule.RestartSeconds {
		left := row.Rule.RestartSeconds - max(since, 0)
		out = data.Estimate{Mean: out.Mean + left, Lo: out.Lo + left, Hi: out.Hi + left}
	}
	return out
}
