package bayesopt

import (
	"math"
	"slices"

	"knee/data"
)

// MeanForm fits a parametric form of the step time, such as a speed family of
// package fit, to measurements with status ok. It returns ln step time (s) and
// the number of parameters estimated; nil if there are too few measurements.
// The Gaussian process models its residuals.
type MeanForm func(measured []data.Measurement) (logStepTime func(data.Config) (value float64, ok bool), parameters int, err error)

// priorMean is one prior mean of ln step time.
type priorMean struct {
	at     []float64 // value at every candidate
	of     func(data.Config) (float64, bool)
	charge float64 // subtracted from its log evidence
}

// setPriorMeans collects the prior means that compete for the data. Each is
// weighted by its evidence, the marginal likelihood of the residuals; a form
// fitted to the same data is charged for its parameters as in the Bayesian
// information criterion (Schwarz 1978). A mean undefined for some candidate is
// left out, as it would add a step.
//
// For times of whole jobs there are three means without parameters, from no
// scaling to perfect scaling: time is constant, falls with the square root of
// the total cores, or falls such that the cost is constant.
func (p *Problem) setPriorMeans() {
	p.addMean(func(data.Config) (float64, bool) { return 0, true }, 0, true)
	if p.Options.JobTime {
		p.addMean(rootOfCores, 0, false)
	}
	if p.Options.JobTime && p.priced {
		p.addMean(func(c data.Config) (float64, bool) {
			price := p.Options.Price(c)
			return -math.Log(price), positive(price)
		}, 0, false)
	}
	usable := p.succeeded()
	for _, form := range p.Options.Forms {
		// The other means suffice if a form cannot be fitted.
		if of, parameters, err := form(usable); err == nil && of != nil {
			p.addMean(of, 0.5*float64(parameters)*math.Log(float64(len(usable))), true)
		}
	}
}

// addMean adds a prior mean if it is defined for every candidate, one that does
// not vary only if constant is set.
func (p *Problem) addMean(of func(data.Config) (float64, bool), charge float64, constant bool) {
	t := priorMean{of: of, charge: charge}
	for _, c := range p.cands {
		m, ok := of(c)
		if !ok || !finite(m) {
			return
		}
		t.at = append(t.at, m)
	}
	if constant || slices.Min(t.at) < slices.Max(t.at) {
		p.priorMeans = append(p.priorMeans, t)
	}
}

// rootOfCores is −½·ln(total cores), of workers if cores are unknown.
func rootOfCores(c data.Config) (float64, bool) {
	cores := float64(c.Workers)
	if v := knob(c, coresKnob); v > 0 {
		cores *= v
	}
	return -0.5 * math.Log(cores), positive(cores)
}

// residuals returns the residuals of the observations from each prior mean, and
// the variance of each observation, nil if all are unknown.
func (p *Problem) residuals() (x [][]float64, responses []response, noise []float64) {
	responses = make([]response, len(p.priorMeans))
	for k, t := range p.priorMeans {
		responses[k].charge = t.charge
	}
	known := 0.0
	for _, o := range p.observations {
		x, noise, known = append(x, o.x), append(noise, o.variance), known+o.variance
		for k := range p.priorMeans {
			responses[k].y = append(responses[k].y, o.logTime-o.priorMeans[k])
		}
	}
	if known == 0 {
		noise = nil
	}
	return x, responses, noise
}

// shift converts the prediction of residuals into that of the response of
// candidate i, written into dst.
func (p *Problem) shift(raw Predictive, post *Posterior, i int, dst *Predictive) Predictive {
	dst.Mean = dst.Mean[:0]
	for k, m := range raw.Mean {
		dst.Mean = append(dst.Mean, m+p.priorMeans[post.form[k]].at[i]+p.offset[i])
	}
	dst.SD, dst.Weight = raw.SD, raw.Weight
	return *dst
}
