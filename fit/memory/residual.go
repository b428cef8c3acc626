package memory

import (
	"math"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"

	"knee/data"
	"knee/internal/gp"
)

// followed is the share of the variance of ln peaks about the form that belongs to the
// layout, and not to the run: the middle between none, as between two versions of a program
// in Sailor's records, and all, as peaks on H100 and H200 agree to the byte.
const followed = .5

// peak is a recorded one.
type peak struct {
	Config data.Config `json:"config"` // with the size that the fit used
	Ln     float64     `json:"ln_bytes"`
}

// input is a configuration as what the form misses depends on it.
type input struct {
	degrees [8]float64 // ln
	words   [3]string
}

func inputOf(c data.Config, a data.Architecture, tokens float64) input {
	stages := max(c.PP, 1)
	p := input{words: [...]string{c.Sharding, c.Recompute, c.Offload}}
	for i, n := range [...]int{c.TP, stages, c.CP, c.EP, c.Replicas(), min(c.AccumSteps+1, stages)} {
		p.degrees[i] = math.Log(float64(max(n, 1)))
	}
	p.degrees[6], p.degrees[7] = tokens, math.Log(a.Count())
	return p
}

// correlation is that of ln peaks about the form in two runs: exponential, as buffers and
// fragmentation need not change smoothly, with a factor e of a degree as length scale, and
// each word that differs as far away.
func (p *point) correlation(other *point) float64 {
	var d float64
	for i, v := range p.input.degrees {
		d += (v - other.input.degrees[i]) * (v - other.input.degrees[i])
	}
	for i, word := range p.input.words {
		if word != other.input.words[i] {
			d++
		}
	}
	for i, v := range p.knobs {
		d += (v - other.knobs[i]) * (v - other.knobs[i])
	}
	if math.IsNaN(d) { // of sizes below zero
		return 0
	}
	return followed * math.Exp(-math.Sqrt(d))
}

// factorize returns the factor of the correlations of peaks; nil without any.
func factorize(peaks []observation) *gp.Factor {
	if len(peaks) == 0 {
		return nil
	}
	k := mat.NewSymDense(len(peaks), nil)
	for i := range peaks {
		for j := range i {
			k.SetSym(i, j, peaks[i].correlation(&peaks[j].point))
		}
		k.SetSym(i, i, 1)
	}
	factor, err := gp.Factorize(k)
	if err != nil {
		panic(err) // eigenvalues are at least 1 − followed
	}
	return factor
}

// residuals returns what the form misses of the peaks, whitened.
func (e *evidence) residuals(f *factors) []float64 {
	z := make([]float64, len(e.peaks))
	for i := range e.peaks {
		if z[i] = e.peaks[i].ln - e.peaks[i].lnReported(f); !(z[i] > leastLikely) {
			z[i] = leastLikely // of bytes beyond all numbers
		}
	}
	if len(z) > 0 {
		e.factor.Whiten(z)
	}
	return z
}

// correlations returns those of a point with the peaks, whitened.
func (e *evidence) correlations(p *point) []float64 {
	k := make([]float64, len(e.peaks))
	for i := range k {
		k[i] = p.correlation(&e.peaks[i].point)
	}
	if len(k) > 0 {
		e.factor.Whiten(k)
	}
	return k
}

// posterior returns ln bytes at a point by draw, given the form's, and the share of the
// noise's standard deviation by which a peak scatters about it.
func (m *Model) posterior(p *point, form func(*factors) float64) (lns []float64, left float64) {
	k := m.peaks.correlations(p)
	lns = make([]float64, len(m.factors))
	for i := range m.factors {
		lns[i] = form(&m.factors[i]) + floats.Dot(k, m.residuals[i])
	}
	return lns, math.Sqrt(1 - floats.Dot(k, k))
}
