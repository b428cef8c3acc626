package learn

import (
	"math"
	"time"

	"gonum.org/v1/gonum/stat/distuv"

	"knee/data"
	"knee/operate/queue"
)

// Forecast returns when a running job ends, in seconds from now, if it stays
// where it is: the steps that are left, at the step time that its model predicts
// there until the clock has told what a step takes with all that is between
// steps, and what is left of its restart if it has not told of a step since. It is
// zero if its rule does not count steps or its batch adapts.
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
	out := onClock(row, p.StepTime).Scale(max(row.Rule.Remaining.Steps-row.Step, 0))
	if since := now.Sub(row.Started).Seconds(); row.StepTime == 0 && row.Restarts > 0 && since < row.Rule.RestartSeconds {
		left := row.Rule.RestartSeconds - max(since, 0)
		out = data.Estimate{Mean: out.Mean + left, Lo: out.Lo + left, Hi: out.Hi + left}
	}
	return out
}

// onClock is what a step takes on the clock: the geometric mean over the looks
// at the job where it runs. Its interval is that of Student for one more such
// look, as if the rest of the job were one, since what slows a machine lasts;
// that of the model is added in squares. A single look, or before it the step
// time in the log, does not say how far looks differ: that it is off the model's
// is all that is known of it.
func onClock(row *queue.Row, predicted data.Estimate) data.Estimate {
	r := row.Reading
	wall, off := r.Wall, 0.0
	switch {
	case r.Looks > 1:
		t := distuv.StudentsT{Sigma: 1, Nu: r.Looks - 1}.Quantile(.95)
		off = t * math.Sqrt(r.Spread/(r.Looks-1)*(1+1/r.Looks))
	case r.Looks == 0 && row.StepTime <= 0:
		return predicted
	case r.Looks == 0:
		wall = math.Log(row.StepTime)
		fallthrough
	default:
		off = math.Abs(wall - math.Log(predicted.Mean))
	}
	mean := math.Exp(wall)
	lo, hi := math.Hypot(math.Log(predicted.Mean/predicted.Lo), off), math.Hypot(math.Log(predicted.Hi/predicted.Mean), off)
	return data.Estimate{Mean: mean, Lo: mean * math.Exp(-lo), Hi: mean * math.Exp(hi)}
}
