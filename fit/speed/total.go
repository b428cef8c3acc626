package speed

import (
	"math"
	"slices"

	"knee/fit/speed/form"
)

// total relates computing and communication of a GPU type of which only whole
// steps of several workers were measured. The prior is then of the typical step,
// and of communication relative to computing: whichever takes longer, the step is
// the measured one.
type total struct {
	compute, intra, inter int     // indices in θ
	typical               float64 // ln of the typical synchronisation relative to that of two workers
	between               bool    // all measured steps synchronise between nodes
}

// totals returns a relation for each GPU type whose computing was not measured.
func (g *group) totals(names []string) (all []total) {
	if g.family != form.CollectiveFamily {
		return nil
	}
	for t := range g.types {
		at := total{t*len(names) + slices.Index(names, "compute"), t*len(names) + slices.Index(names, "intra"), t*len(names) + slices.Index(names, "inter_over_intra"), 0, true}
		rows, computing := 0., false
		for i := range g.rows {
			if g.pts[i].Type != t {
				continue
			}
			p := g.pts[i].Assume(&g.scale)
			_, timed := g.rows[i].lnCompute()
			computing = computing || timed || p.Workers == 1
			at.between = at.between && p.Nodes > 1
			at.typical += p.LnRing
			rows++
		}
		if !computing {
			at.typical /= rows
			all = append(all, at)
		}
	}
	return all
}

// communication returns ln of the time of the typical synchronisation relative to
// computing, and its derivative by inter.
func (t *total) communication(intra, inter float64) (ln, byInter float64) {
	ln = intra + t.typical
	if t.between { // the slower link dominates, as in the form
		ln, byInter = ln+math.Log1p(math.Exp(4*inter))/4, 1/(1+math.Exp(-4*inter))
	}
	return ln, byInter
}

// apply turns the relative parameters into those of the form, in place.
func (t *total) apply(x []float64) {
	ln, _ := t.communication(x[t.intra], x[t.inter])
	x[t.compute] -= math.Log1p(math.Exp(ln))
	x[t.intra] += x[t.compute]
}

// undo is the inverse of apply.
func (t *total) undo(theta []float64) {
	theta[t.intra] -= theta[t.compute]
	ln, _ := t.communication(theta[t.intra], theta[t.inter])
	theta[t.compute] += math.Log1p(math.Exp(ln))
}

// pull turns derivatives d by θ, at θ, into derivatives by the relative
// parameters, in place.
func (t *total) pull(theta, d []float64) {
	ln, byInter := t.communication(theta[t.intra]-theta[t.compute], theta[t.inter])
	share := 1 / (1 + math.Exp(-ln))
	d[t.compute] += d[t.intra]
	d[t.intra] -= share * d[t.compute]
	d[t.inter] -= share * byInter * d[t.compute]
}
