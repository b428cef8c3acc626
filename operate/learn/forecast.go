package learn

import (
	"math"
	"time"

	"gonum.org/v1/gonum/stat/distuv"

	"knee/data"
	"knee/operate/queue"
)

// Forecast sets Finish of each running job: the seconds until it ends on its present
// nodes, steps left × seconds per step. Those are measured on the clock, pauses included;
// until then the model predicts them. A job without a step since its restart also gets
// the rest of its restart time. Finish is zero if the rule has no number of steps, the
// batch adapts, or the model cannot predict.
func (m *Models) Forecast(rows []queue.Row, now time.Time) {
	predicted := make([]data.Estimate, len(rows))
	off, jobs := make([]float64, len(rows)), 0.0 // squared ln(measured ÷ predicted) of each job, and jobs with one
	total := 0.0
	for i := range rows {
		predicted[i] = m.stepTime(&rows[i])
		if r := rows[i].Reading; predicted[i].Mean > 0 && r.Looks > 0 {
			off[i] = math.Pow(r.Wall-math.Log(predicted[i].Mean), 2)
			total, jobs = total+off[i], jobs+1
		}
	}
	for i := range rows {
		row := &rows[i]
		row.Finish = data.Estimate{}
		if predicted[i].Mean <= 0 {
			continue
		}
		others := jobs
		if row.Reading.Looks > 0 {
			others--
		}
		out := onClock(row, predicted[i], total-off[i], others).Scale(max(row.Rule.Remaining.Steps-row.Step, 0))
		if since := now.Sub(row.Started).Seconds(); row.StepTime == 0 && row.Restarts > 0 && since < row.Rule.RestartSeconds {
			left := row.Rule.RestartSeconds - max(since, 0)
			out = data.Estimate{Mean: out.Mean + left, Lo: out.Lo + left, Hi: out.Hi + left}
		}
		row.Finish = out
	}
}

// stepTime is the step time that the model of a running job predicts; zero where
// Forecast sets none.
func (m *Models) stepTime(row *queue.Row) data.Estimate {
	if row.State != queue.Running || row.Reading == nil || row.Rule.Remaining.Steps == 0 || row.Rule.Batch.Adapt {
		return data.Estimate{}
	}
	if known := m.model(m.Find(row)); known != nil {
		if p, err := known.Predict(row.Config()); err == nil {
			return p.StepTime
		}
	}
	return data.Estimate{}
}

// onClock is the seconds per step on the clock: the geometric mean over the looks at the
// job on its present nodes. Its 90 % interval is Student's prediction interval for one
// more look: the rest of the job counts as one, since what slows a machine lasts. The
// half-width of the model's interval is added in squares, in logarithms. With fewer than
// two looks the spread is not known. Instead the half-width is, added in squares, the
// job's deviation from its model, and Student's interval of the deviations of other jobs:
// others of them, with the given sum of squares.
func onClock(row *queue.Row, predicted data.Estimate, squares, others float64) data.Estimate {
	r := row.Reading
	var mean, off float64
	switch {
	case r.Looks > 0:
		mean = r.Wall
	case row.StepTime > 0:
		mean = math.Log(row.StepTime)
	default:
		return predicted
	}
	if r.Looks > 1 {
		off = student(r.Looks-1) * math.Sqrt(r.Spread/(r.Looks-1)*(1+1/r.Looks))
	} else {
		off = math.Abs(mean - math.Log(predicted.Mean))
		if others > 0 {
			off = math.Hypot(off, student(others)*math.Sqrt(squares/others))
		}
	}
	lo, hi := math.Hypot(math.Log(predicted.Mean/predicted.Lo), off), math.Hypot(math.Log(predicted.Hi/predicted.Mean), off)
	return data.Estimate{Mean: math.Exp(mean), Lo: math.Exp(mean - lo), Hi: math.Exp(mean + hi)}
}

// student is the .95 quantile of Student's t with the given degrees of freedom.
func student(nu float64) float64 { return distuv.StudentsT{Sigma: 1, Nu: nu}.Quantile(.95) }
