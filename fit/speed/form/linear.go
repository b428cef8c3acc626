package form

import (
	"math"

	"knee/data"
)

// Linear is a published model whose step time is linear in non-negative
// coefficients.
type Linear struct {
	Theta  []float64
	family *linearFamily
	scale  Scale // typical batches, for an unknown batch
}

// linearFamily is one of the published linear models.
type linearFamily struct {
	names, units []string
	terms        func(p *Point) []float64
	compute      int  // number of leading terms that are computation
	perCycle     bool // the terms sum to a worker's cycle, with one update per worker
}

// StepTime implements [StepTimer].
func (t *Linear) StepTime(c data.Config) float64 {
	p := NewPoint(c, t.scale)
	step, _ := t.LogTimes(&p)
	return math.Exp(step)
}

// LogTimes implements [Curve].
func (t *Linear) LogTimes(p *Point) (step, compute float64) {
	var all, first float64
	for i, v := range t.family.terms(p) {
		all += t.Theta[i] * v
		if i < t.family.compute {
			first = all
		}
	}
	step, compute = math.Log(all), math.Log(first/(p.Accum+1))
	if t.family.perCycle {
		step -= p.LnWorkers
	}
	return step, compute
}

// Params implements [Fitted].
func (t *Linear) Params() []Param {
	ps := make([]Param, len(t.Theta))
	for i, v := range t.Theta {
		ps[i] = param(t.family.names[i], t.family.units[i], v)
	}
	return ps
}

// linearForm scales a linear model to one set of measurements: each coefficient
// is the exponential of a coordinate, times the value that alone explains the
// typical step time.
type linearForm struct {
	*linearFamily
	s    Scale
	unit []float64
}

func newLinear(f *linearFamily, pts []Point, s Scale) Form {
	l := &linearForm{linearFamily: f, s: s, unit: make([]float64, len(f.names))}
	for i := range pts {
		for j, v := range f.terms(&pts[i]) {
			l.unit[j] += v / float64(len(pts))
		}
	}
	for j, v := range l.unit {
		l.unit[j] = s.Step / math.Max(v, math.SmallestNonzeroFloat32)
	}
	return l
}

// Names implements [Form].
func (l *linearForm) Names() []string { return append([]string(nil), l.names...) }

// Bind implements [Form].
func (l *linearForm) Bind(x []float64) Curve {
	t := &Linear{Theta: make([]float64, len(x)), family: l.linearFamily, scale: l.s}
	for j, v := range x {
		t.Theta[j] = l.unit[j] * math.Exp(v)
	}
	return t
}

// Gradient implements [Form]: the terms' shares.
func (l *linearForm) Gradient(x []float64, p *Point, step, compute []float64) {
	t := l.Bind(x).(*Linear)
	var all, first float64
	for j, v := range l.terms(p) {
		step[j] = t.Theta[j] * v
		all += step[j]
		if j < l.compute {
			compute[j], first = step[j], all
		}
	}
	for j := range step {
		step[j] /= all
		compute[j] /= first
	}
}

// Starts implements [Form]: the prior mean, and each term dominant.
func (l *linearForm) Starts() []map[string]float64 {
	starts := []map[string]float64{{}}
	for _, n := range l.names {
		starts = append(starts, map[string]float64{n: 1.5})
	}
	return starts
}
