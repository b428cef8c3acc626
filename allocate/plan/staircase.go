package plan

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"knee/allocate"
	"knee/data"
)

// Staircase is what further workers of one GPU type are worth to one job, in
// the steps in which they are worth taking.
type Staircase struct {
	Job     string
	GPUType string
	Least   int    // workers of its smallest option, which it gets or waits
	Workers int    // that the plan gives it
	Steps   []Step // ascending, from Least on
}

// Step is one step of a [Staircase].
type Step struct {
	From, To int     // workers before and after
	Gain     float64 // of the objective's value, per worker; never more than that of the step before on the same side of where the plan stops
	Given    bool    // by the plan
	Goodput  float64 // samples/s with To workers
}

// Staircases returns the staircase of every job that a plan runs, on the GPU
// type it got, in the order of the plan. Steps are the edges of the upper
// concave envelope of what each number of workers is worth (the marginal gains
// of Optimus, Peng et al., EuroSys 2018, section 4.1), one envelope up to
// where the plan stopped and one from there on. Options that are worth less
// than a smaller one are never stepped on.
//
// pr must be the problem that the plan solves; it fails as [Solve] does.
func Staircases(pr Problem, plan *data.Plan) ([]Staircase, error) {
	pr.Strict = false
	p, err := prepare(pr, oraclesOf(pr))
	if err != nil {
		return nil, err
	}
	return p.staircases(plan)
}

func (p *prepared) staircases(plan *data.Plan) ([]Staircase, error) {
	at := map[string]int{}
	for i, j := range p.Jobs {
		at[j.Name] = i
	}
	var out []Staircase
	for _, j := range plan.Jobs {
		i, known := at[j.Name]
		if !known {
			return nil, fmt.Errorf("allocate: the plan has job %q, which the problem does not have", j.Name)
		}
		if j.Workers > 0 {
			out = append(out, staircase(j, p.state.Jobs[i].Options))
		}
	}
	return out, nil
}

// staircase is that of one job that got something.
func staircase(j data.PlannedJob, options []allocate.Option) Staircase {
	s := Staircase{Job: j.Name, GPUType: j.GPUType, Workers: j.Workers}
	best := bestBySize(options, j.GPUType)
	if len(best) == 0 {
		return s
	}
	s.Least = best[0].Use.GPUs
	got := 0
	for n, o := range best {
		if o.Use.GPUs <= j.Workers {
			got = n
		}
	}
	s.Steps = steps(best[:got+1], true, true)
	s.Steps = append(s.Steps, steps(best[got:], false, false)...)
	return s
}

// bestBySize returns, of the options of one GPU type, the one worth most for
// every number of workers, ascending.
func bestBySize(options []allocate.Option, gpuType string) []allocate.Option {
	at := map[int]int{}
	var out []allocate.Option
	for _, o := range options {
		if o.Use.GPUType != gpuType || math.IsNaN(o.Value) || math.IsInf(o.Value, 0) {
			continue
		}
		k, known := at[o.Use.GPUs]
		switch {
		case !known:
			at[o.Use.GPUs] = len(out)
			out = append(out, o)
		case o.Value > out[k].Value:
			out[k] = o
		}
	}
	slices.SortFunc(out, func(a, b allocate.Option) int { return cmp.Compare(a.Use.GPUs, b.Use.GPUs) })
	return out
}

// steps are the edges of the upper concave envelope from the first option on:
// to the last one if toEnd, else for as long as they gain.
func steps(options []allocate.Option, given, toEnd bool) []Step {
	var out []Step
	for from := 0; from+1 < len(options); {
		to, gain := allocate.None, math.Inf(-1)
		for n := from + 1; n < len(options); n++ {
			g := (options[n].Value - options[from].Value) / float64(options[n].Use.GPUs-options[from].Use.GPUs)
			if g >= gain {
				to, gain = n, g
			}
		}
		if gain <= 0 && !toEnd {
			break
		}
		out = append(out, Step{From: options[from].Use.GPUs, To: options[to].Use.GPUs, Gain: gain, Given: given, Goodput: options[to].Answer.Goodput.Mean})
		from = to
	}
	return out
}
