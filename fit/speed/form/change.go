package form

import (
	"maps"
	"math"
	"slices"
)

// mostOverlap is the γ of perfect overlap, the limit of communication
// scheduling (P3, MLSys'19; ByteScheduler, SOSP'19; TicTac, MLSys'19) and of
// the form.
const mostOverlap = 10

// overlapAt returns γ at a coordinate x, the logit of the position of 1/γ
// between 1 (no overlap) and 1/mostOverlap: a uniform prior of 1/γ is a
// standard logistic prior of x.
func overlapAt(x float64) float64 { return 1 / (1 - (1-1./mostOverlap)*logistic(x)) }

// overlapSlope is the derivative of ln γ by x.
func overlapSlope(x float64) float64 {
	o := logistic(x)
	return overlapAt(x) * (1 - 1./mostOverlap) * o * (1 - o)
}

// changes of the collective form. Hierarchical reduction sends one message per
// node between the nodes (HiPS, in Geng et al., "HiPS: Hierarchical Parameter
// Synchronization in Large-Scale Distributed Machine Learning", 2018).
func (c *collective) changes() map[string]func(factor float64) Fitted {
	scale := func(of ...func(c *Collective) *float64) func(float64) Fitted {
		return func(factor float64) Fitted {
			changed := c.Collective
			for _, f := range of {
				*f(&changed) *= factor
			}
			return changed.prepare()
		}
	}
	fixed, per := func(c *Collective) *float64 { return &c.Fixed }, func(c *Collective) *float64 { return &c.PerBatch }
	return map[string]func(float64) Fitted{
		"compute":    scale(fixed, per),
		"fixed":      scale(fixed),
		"per_batch":  scale(per),
		"intra_node": scale(func(c *Collective) *float64 { return &c.Intra }),
		"inter_node": scale(func(c *Collective) *float64 { return &c.Inter }),
		"overlap": func(float64) Fitted {
			changed := c.Collective
			changed.Overlap = mostOverlap
			return changed.prepare()
		},
		"hierarchical": func(float64) Fitted {
			changed := c.Collective
			changed.Hierarchical = true
			return changed.prepare()
		},
	}
}

// changes of the ps form.
func (t *ParameterServer) changes() map[string]func(factor float64) Fitted {
	scale := func(of ...func(t *ParameterServer) *float64) func(float64) Fitted {
		return func(factor float64) Fitted {
			changed := *t
			for _, f := range of {
				*f(&changed) *= factor
			}
			return &changed
		}
	}
	return map[string]func(float64) Fitted{
		"compute":  scale(func(t *ParameterServer) *float64 { return &t.Compute }, func(t *ParameterServer) *float64 { return &t.Fixed }),
		"transfer": scale(func(t *ParameterServer) *float64 { return &t.Transfer }),
		"overlap": func(float64) Fitted {
			changed := *t
			changed.Overlapped = true
			return &changed
		},
	}
}

// changeable is a curve with changes.
type changeable interface {
	changes() map[string]func(factor float64) Fitted
}

// Changes returns the names of the changes of a curve, sorted.
func Changes(c Curve) []string {
	if all, ok := c.(typedCurve); ok {
		c = all[0]
	}
	if s, ok := c.(*slopedCurve); ok {
		c = s.Fitted
	}
	if p, ok := c.(changeable); ok {
		return slices.Sorted(maps.Keys(p.changes()))
	}
	return nil
}

// Change returns a curve with one change, for every GPU type; ok is false for a
// name that [Changes] does not list, or a factor that is not finite and above
// 0.
func Change(c Curve, name string, factor float64) (changed Curve, ok bool) {
	switch c := c.(type) {
	case typedCurve:
		all := make(typedCurve, len(c))
		for t := range c {
			if all[t], ok = Change(c[t], name, factor); !ok {
				return nil, false
			}
		}
		return all, true
	case *slopedCurve:
		inner, ok := Change(c.Fitted, name, factor)
		if !ok {
			return nil, false
		}
		s := *c
		s.Fitted = inner.(Fitted)
		s.parts, _ = inner.(Separable)
		return &s, true
	case changeable:
		f, ok := c.changes()[name]
		if !ok || !(factor > 0) || math.IsInf(factor, 0) {
			return nil, false
		}
		return f(factor), true
	}
	return nil, false
}
