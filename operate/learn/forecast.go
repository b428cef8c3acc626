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
	out := onClock(row.Reading, p.StepTime).Scale(max(row.Rule.Remaining.Steps-row.Step, 0))
	if since := now.Sub(row.Started).Seconds(); row.StepTime == 0 && row.Restarts > 0 && since < row.Rule.RestartSeconds {
		left := row.Rule.RestartSeconds - max(since, 0)
		out = data.Estimate{Mean: out.Mean + left, Lo: out.Lo + left, Hi: out.Hi + left}
	}
	return out
}

// onClock is what a step takes on the clock: the geometric mean over the looks
// at the job where it runs. Its interval is that of Student for one more such
// look, as if the rest of the job were one, since what slows a machine lasts;
// that of the model is added in squares.
func onClock(r *queue.Reading, predicted data.Estimate) data.Estimate {
	if r.Looks == 0 {
		return predicted
	}
	mean := math.Exp(r.Wall)
	lo, hi := math.Log(predicted.Mean/predicted.Lo), math.Log(predicted.Hi/predicted.Mean)
	switch {
	case r.Looks == 1: // how far looks differ is not known, how far this one is off the model is
		off := math.Abs(r.Wall - math.Log(predicted.Mean))
		lo, hi = math.Hypot(lo, off), math.Hypot(hi, off)
	default:
		t := distuv.StudentsT{Sigma: 1, Nu: r.Looks - 1}.Quantile(.95)
		off := t * math.Sqrt(r.Spread/(r.Looks-1)*(1+1/r.Looks))
		lo, hi = math.Hypot(lo, off), math.Hypot(hi, off)
	}
	return data.Estimate{Mean: mean, Lo: mean * math.Exp(-lo), Hi: mean * math.Exp(hi)}
}
