package bayesopt

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"

	"knee/data"
)

// Slice is the posterior along one knob; see [Guided.Slice].
type Slice struct {
	Through data.Config // best configuration so far, which the slice includes
	Points  []SlicePoint
}

// SlicePoint is one candidate of a [Slice].
type SlicePoint struct {
	Value       float64       // value of the knob
	Index       int           // index of the candidate
	Expected    data.Estimate // objective in its natural unit, with its 90 % interval
	Improvement float64       // expected improvement over the best so far, as a fraction; 0 for tried candidates
}

// Slice returns the posterior of the candidates that differ from the best configuration so
// far only in one knob, in ascending order: "workers" or "nodes" (each with placement),
// "ps", "local_batch", "accum_steps" or a further knob. It fails if no candidate was
// measured, if the knob is not a number, or if no other candidate differs in it.
func (g *Guided) Slice(h History, name string) (Slice, error) {
	p, err := NewProblem(g.Options, h)
	if err != nil {
		return Slice{}, err
	}
	post, err := p.learn()
	if err != nil {
		return Slice{}, err
	}
	if post == nil || p.bestIndex < 0 {
		return Slice{}, &data.InputError{Found: "no candidate that was measured", Want: "at least one measurement with status ok"}
	}
	centre := p.Favourite(post)
	s := Slice{Through: p.cands[centre]}
	best := p.incumbent(post)
	for i, c := range p.cands {
		v := valueOf(c, name)
		if !(v > 0) && name != "ps" && name != "accum_steps" {
			return Slice{}, fmt.Errorf("knob %q of %s is not a number; want workers, nodes, ps, local_batch, accum_steps or a further knob with numbers for values", name, c)
		}
		if without(c, name).Key() != without(s.Through, name).Key() {
			continue
		}
		belief := p.belief(post, i)
		at := SlicePoint{Value: v, Index: i, Expected: p.Options.Objective.estimate(belief)}
		if p.standing[i] == open {
			// for small improvements ln best − ln response is the fraction
			at.Improvement = math.Exp(belief.Average(LogEI, best))
		}
		s.Points = append(s.Points, at)
	}
	slices.SortFunc(s.Points, func(a, b SlicePoint) int { return cmp.Compare(a.Value, b.Value) })
	s.Points = slices.CompactFunc(s.Points, func(a, b SlicePoint) bool { return a.Value == b.Value })
	if len(s.Points) < 2 {
		return Slice{}, fmt.Errorf("no other candidate differs from %s in %s only; want a knob that varies on its own", s.Through, name)
	}
	return s, nil
}

// valueOf returns a knob as a number, NaN if it is not one.
func valueOf(c data.Config, name string) float64 {
	if v, ok := map[string]float64{"workers": float64(c.Workers), "nodes": float64(c.NodeCount()), "ps": float64(c.PS),
		"local_batch": c.LocalBatch, "accum_steps": float64(c.AccumSteps)}[name]; ok {
		return v
	}
	return knob(c, strings.TrimPrefix(name, "x_"))
}

// without sets a knob, and for workers and nodes the placement, to a fixed value.
func without(c data.Config, name string) data.Config {
	if name == "workers" || name == "nodes" {
		c.Nodes, c.Placement = 1, nil
	}
	c.Extra = maps.Clone(c.Extra)
	c.Set(name, "1")
	return c
}
