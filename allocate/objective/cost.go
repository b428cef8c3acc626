package objective

import "math"

// cost is the negative of the US dollars it takes to finish every job, with
// a penalty for lateness. As "cost" a late second costs what a second of the
// job's own allocation costs, which counts the deadline without letting it
// rule; as "deadline" a late job costs more than any allocation could, so
// that jobs are on time first and cheap second.
type cost struct {
	name        string
	latePenalty float64 // US$ for being late at all
}

// lateFirst is the price of a missed deadline under "deadline", in US$: more
// than any job is thought to cost. How late a job is adds up to a thousandth
// of it, so that among late jobs less late is better, and no sum of less than
// a thousand delays outweighs one more job in time.
const lateFirst = 1e6

// unpaid is the price of leaving a job idle, in US$: waiting is never the
// cheap way out. It is no larger than it must be, as cents are compared
// with sums that contain it.
const unpaid = 1e7

// Name implements [Objective].
func (c cost) Name() string { return c.name }

// Value implements [Objective].
func (c cost) Value(s Subject, o Outcome) float64 {
	t := o.Restart + s.remaining(o.Answer)
	if math.IsInf(t, 1) {
		return c.Idle(s)
	}
	price := o.Answer.PricePerHour
	v := -price * t / 3600
	if d := s.Job.Deadline.Seconds(); d > 0 && t > d {
		late := price * (t - d) / 3600
		if c.latePenalty > 0 {
			late = 0
		}
		v -= s.Weight() * (late + c.latePenalty*(1+math.Min((t-d)/d, 10)/1e4))
	}
	return math.Max(v, c.Idle(s)/2)
}

// Idle implements [Objective].
func (cost) Idle(s Subject) float64 { return -unpaid * s.Weight() }

// Report implements [Objective].
func (cost) Report(sum float64, _ []Subject) float64 { return sum }
