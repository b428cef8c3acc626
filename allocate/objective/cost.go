package objective

import "math"

// cost is the negative of the US$ that finishing every job costs. A second after the deadline
// costs as much as one of the job's allocation.
var cost = dollars(0)

// deadline is [cost], but a late job costs more than any allocation.
var deadline = dollars(lateFirst)

// lateFirst is the price of a missed deadline in US$: more than any job costs. The delay adds
// at most a thousandth of it: of two late jobs the less late is better, and fewer than a
// thousand delays never outweigh one missed deadline.
const lateFirst = 1e6

// unpaid is the price of an idle job in US$, so that waiting is never cheaper than running. A
// larger one would lose cents to rounding.
const unpaid = 1e7

// dollars is the objective with a price for a missed deadline; 0: delays cost by the second.
func dollars(late float64) Objective {
	idle := func(s Subject) float64 { return -unpaid * s.Weight() }
	return Objective{Idle: idle, Unpriced: true, Value: func(s Subject, o Outcome) float64 {
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
