package form

import "math"

// linearFamily is a published model linear in non-negative coefficients.
type linearFamily struct {
	names, units []string
	terms        func(p *Point) []float64
	compute      int  // number of leading terms that are computation
	perCycle     bool // the terms sum to a worker's cycle, with one update per worker
}

// form scales the model to measurements; the solver also starts from each term dominant.
func (l *linearFamily) form(pts []Point, s Scale) Form {
	f := &published{scale: s, lnTimes: l.lnTimes}
	typical := make([]float64, len(l.names))
	for i := range pts {
		for j, v := range l.terms(&pts[i]) {
			typical[j] += v / float64(len(pts))
		}
	}
	for j, v := range typical {
		f.parameters = append(f.parameters, parameter{l.names[j], l.units[j], positive(s.Step / math.Max(v, math.SmallestNonzeroFloat32))})
		f.starts = append(f.starts, map[string]float64{l.names[j]: 2})
	}
	return f
}

func (l *linearFamily) lnTimes(theta []float64, p *Point) (step, compute float64) {
	var all, first float64
	for i, v := range l.terms(p) {
		all += theta[i] * v
		if i < l.compute {
			first = all
		}
	}
	step, compute = math.Log(all), math.Log(first/(p.Accum+1))
	if l.perCycle {
		step -= p.LnWorkers
	}
	return step, compute
}
