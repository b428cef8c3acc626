package objective

import "math"

// cost is the negative of the US dollars it takes to finish every job. A late
// second costs what a second of the job's own allocation costs, which counts the
// deadline without letting it rule.
var cost = dollars(0)

// deadline is cost, but a late job costs more than any allocation could, so that
// jobs are on time first and cheap second.
var deadline = dollars(lateFirst)

// lateFirst is the price of a missed deadline under "deadline", in US$: more
// than any job is thought to cost. How late a job is adds up to a thousandth
// of it, so that among late jobs less late is better, and no sum of less than
// a thousand delays outweighs one more job in time.
const lateFirst = 1e6

// unpaid is the price of leaving a job idle, in US$: waiting is never the
// cheap way out. It is no larger than it must be, as cents are compared
// with sums that contain it.
const unpaid = 1e7

// dollars is the objective of money, with a price in US$ for being late at all;
// without one lateness is paid by the second.
func dollars(late float64) definition {
	idle := func(s Subject) float64 { return -unpaid * s.Weight() }
	return definition{idle: idle, value: func(s Subject, o Outcome) float64 {
		t := o.Restart + s.remaining(o.Answer)
		if math.IsInf(t, 1) {
			return idle(s)
		}
		price := o.Answer.PricePerHour / 3600
		v := -price * t
		if d := s.Job.Deadline.Seconds(); d > 0 && t > d {
			penalty := price * (t - d)
			if late > 0 {
				penalty = late * (1 + math.Min((t-d)/d, 10)/1e4)
			}
			v -= s.Weight() * penalty
		}
		return math.Max(v, idle(s)/2)
	}}
}
