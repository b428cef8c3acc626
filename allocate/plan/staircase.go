package plan

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"knee/allocate"
	"knee/data"
)

// Staircase is the value to one job of further workers of one GPU type.
type Staircase struct {
	Job     string
	GPUType string
	Least   int    // workers of its smallest option
	Workers int    // in the plan
	Steps   []Step // ascending, from Least on
}

// Step is one step of a [Staircase].
type Step struct {
	From, To int     // workers before and after
	Gain     float64 // of value, per worker; does not rise from step to step, except after the last Given one
	Given    bool    // in the plan
	Before   float64 // samples/s with From workers
	Goodput  float64 // samples/s with To workers
	to       *allocate.Option
}

// Staircases returns the staircase of every job that a plan runs, on the GPU type it got,
// in the order of the plan. Steps are the edges of the upper concave envelope of value
// over workers (the marginal gains of Optimus, Peng et al., EuroSys 2018, section 4.1):
// one envelope up to the workers of the plan, one from there on. pr must be the problem
// of the plan.
func Staircases(pr Problem, plan *data.Plan) ([]Staircase, error) {
	pr.Strict = false
	p, err := prepare(pr, oraclesOf(pr))
	if err != nil {
		return nil, err
	}
	return p.staircases(plan)
}

func (p *prepared) staircases(plan *data.Plan) ([]Staircase, error) {
	var out []Staircase
	for i, j := range plan.Jobs {
		if i >= len(p.Jobs) || p.Jobs[i].Name != j.Name {
			return nil, fmt.Errorf("allocate: job %d of the plan is %q, which the problem does not have there", i, j.Name)
		}
		if j.Workers > 0 {
			s := Staircase{Job: j.Name, GPUType: j.GPUType, Workers: j.Workers}
			least, down, up := edges(p.state.Jobs[i].Options, j.GPUType, j.Workers, nil)
			s.Least, s.Steps = least, down
			for _, step := range up {
				if step.Gain > 0 {
					s.Steps = append(s.Steps, step)
				}
			}
			out = append(out, s)
		}
	}
	return out, nil
}

// edges are the steps of a job on one GPU type: down, to what it got, and up, from there
// on. What it got may not be the best of its size, as of its shape; nil: it is.
func edges(options []allocate.Option, gpuType string, workers int, has *allocate.Option) (least int, down, up []Step) {
	var best []*allocate.Option // the best of every number of workers, ascending
	for n := range options {
		o := &options[n]
		if o.Use.GPUType != gpuType || o.Value-o.Value != 0 {
			continue
		}
		at, known := slices.BinarySearchFunc(best, o.Use.GPUs, func(b *allocate.Option, w int) int { return b.Use.GPUs - w })
		if !known {
			best = slices.Insert(best, at, o)
		} else if o.Value > best[at].Value {
			best[at] = o
		}
	}
	if len(best) == 0 {
		return 0, nil, nil
	}
	got := 0
	for n, o := range best {
		if o.Use.GPUs <= workers {
			got = n
		}
	}
	best[got] = cmp.Or(has, best[got])
	return best[0].Use.GPUs, steps(best[:got+1], true), steps(best[got:], false)
}

// steps are the edges of the upper concave envelope from the first option to the last;
// once no option that was not given pays, there is one step, to the best of them.
func steps(options []*allocate.Option, given bool) (out []Step) {
	for from := 0; from+1 < len(options); {
		to, gain := allocate.None, math.Inf(-1)
		for n := from + 1; n < len(options); n++ {
			if g := (options[n].Value - options[from].Value) / float64(options[n].Use.GPUs-options[from].Use.GPUs); g >= gain {
				to, gain = n, g
			}
		}
		if !given && gain <= 0 {
			for n := from + 1; n < len(options); n++ {
				if options[n].Value > options[to].Value {
					to = n
				}
			}
			gain = (options[to].Value - options[from].Value) / float64(options[to].Use.GPUs-options[from].Use.GPUs)
		}
		out = append(out, Step{From: options[from].Use.GPUs, To: options[to].Use.GPUs, Gain: gain, Given: given,
			Before: options[from].Answer.Goodput.Mean, Goodput: options[to].Answer.Goodput.Mean, to: options[to]})
		from = to
	}
	return out
}
