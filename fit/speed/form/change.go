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
	set := func(change func(c *collective, ln float64)) func(float64) Fitted {
		return changing(c, func(c *collective, factor float64) { change(c, math.Log(factor)) })
	}
	return map[string]func(float64) Fitted{
		"compute":      set(func(c *collective, ln float64) { c.lnFixed, c.lnPer = c.lnFixed+ln, c.lnPer+ln }),
		"fixed":        set(func(c *collective, ln float64) { c.lnFixed += ln }),
		"per_batch":    set(func(c *collective, ln float64) { c.lnPer += ln }),
		"intra_node":   set(func(c *collective, ln float64) { c.lnIntra += ln }),
		"inter_node":   set(func(c *collective, ln float64) { c.lnInter += ln }),
		"overlap":      set(func(c *collective, _ float64) { c.overlap = mostOverlap }),
		"hierarchical": set(func(c *collective, _ float64) { c.hierarchical = true }),
	}
}

// changes of the ps form.
func (t *ParameterServer) changes() map[string]func(factor float64) Fitted {
	return map[string]func(float64) Fitted{
		"compute":  changing(t, func(t *ParameterServer, f float64) { t.Compute, t.Fixed = t.Compute*f, t.Fixed*f }),
		"transfer": changing(t, func(t *ParameterServer, f float64) { t.Transfer *= f }),
		"overlap":  changing(t, func(t *ParameterServer, _ float64) { t.Overlap = mostOverlap }),
	}
}

// changing returns a function that changes a copy of c.
func changing[T any, P interface {
	*T
	Fitted
}](c P, change func(c P, factor float64)) func(factor float64) Fitted {
	return func(factor float64) Fitted {
		changed := *c
		change(&changed, factor)
		return P(&changed)
	}
}

// changeable is a curve with changes.
type changeable interface {
	changes() map[string]func(factor float64) Fitted
}

// Changes returns the names of the changes of a curve, sorted.
func Changes(c Curve) []string {
	if p, ok := OfType(c, 0).(changeable); ok {
		return slices.Sorted(maps.Keys(p.changes()))
	}
	return nil
}

// Change returns a curve with one change, for every GPU type; ok is false for a name not in
// [Changes], or a factor that is not finite and above 0.
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
