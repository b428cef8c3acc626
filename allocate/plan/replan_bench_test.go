package plan

import (
	"math"
	"slices"
	"testing"

	"knee/allocate"
	"knee/allocate/objective"
	"knee/predict"
)

// chooser decides about the jobs that are left: the option of each.
type chooser func(p *prepared, left []float64) []int

// replanned is the total completion time, in hours, if the same decision is
// made anew each time a job ends, with 30 s lost by every job whose
// allocation changes. left is the part of each job's work that is left.
func replanned(tb testing.TB, p *prepared, choose chooser) float64 {
	n := len(p.state.Jobs)
	left, was := make([]float64, n), make([]int, n)
	for i := range left {
		left[i], was[i] = 1, allocate.None
	}
	now, total := 0.0, 0.0
	for range n {
		choice := choose(p, left)
		next, ends := math.Inf(1), allocate.None
		need := make([]float64, n)
		for i, c := range choice {
			if left[i] <= 0 || c == allocate.None {
				continue
			}
			need[i] = left[i] * p.state.Jobs[i].Options[c].Answer.TimeToTarget.Mean
			if was[i] != allocate.None && was[i] != c {
				need[i] += 30
			}
			if need[i] < next {
				next, ends = need[i], i
			}
		}
		if ends == allocate.None {
			tb.Fatal("nothing runs")
		}
		for i, c := range choice {
			if need[i] > 0 && c != allocate.None {
				left[i] *= 1 - next/need[i]
			}
		}
		left[ends] = 0
		now += next
		total += now
		was = choice
	}
	return total / 3600
}

// replan makes a chooser of a policy on option tables valued by an
// objective, for the jobs that are left.
func replan(tb testing.TB, policy allocate.Policy, value func(s objective.Subject, options []allocate.Option) (idle float64)) chooser {
	return func(p *prepared, left []float64) []int {
		s := allocate.State{Cluster: p.Cluster}
		var who []int
		for i, j := range p.state.Jobs {
			if left[i] <= 0 {
				continue
			}
			j.Options = slices.Clone(j.Options)
			subject := p.subjects[i]
			scale(&subject.Reference, left[i])
			for n := range j.Options {
				scale(&j.Options[n].Answer, left[i])
			}
			j.Idle = value(subject, j.Options)
			s.Jobs, who = append(s.Jobs, j), append(who, i)
		}
		a, err := policy.Allocate(s)
		if err != nil {
			tb.Fatal(err)
		}
		out := make([]int, len(left))
		for i := range out {
			out[i] = allocate.None
		}
		for n, i := range who {
			out[i] = a.Choice[n]
		}
		return out
	}
}

func scale(a *predict.Answer, by float64) { a.TimeToTarget = a.TimeToTarget.Scale(by) }
