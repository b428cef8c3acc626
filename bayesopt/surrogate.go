package bayesopt

import (
	"cmp"
	"math"
	"slices"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/stat/distuv"

	"knee/data"
	"knee/internal/normal"
	"knee/internal/parallel"
)

// MeanForm fits a parametric form of the step time, such as a speed family of package fit,
// to measurements with status ok. It returns ln step time (s); nil if there are too few
// measurements. It is called concurrently. The Gaussian process models its residuals.
type MeanForm func(measured []data.Measurement) (logStepTime func(data.Config) (value float64, ok bool), err error)

// priorMean is one prior mean of ln step time.
type priorMean struct {
	at []float64 // value at every candidate
	of func(data.Config) (float64, bool)
	// foreseen is the value at every successful trial as fitted to those before
	// it, NaN where that was impossible; nil if nothing is fitted.
	foreseen []float64
}

// setPriorMeans collects the prior means that compete for the data. Each is
// weighted by its evidence, the marginal likelihood of the residuals; for a form
// fitted to the trials, of those from each trial as predicted before it (Dawid,
// "Present position and potential developments", 1984). A mean undefined for
// some candidate is left out, as it would add a step.
//
// The time of a whole job is constant, falls with the square root of the total cores, or
// falls such that the cost is constant. The time of a step is constant in the samples of a
// worker (latency), grows with their root, or is proportional (throughput); likewise in the
// workers, from communication that takes no time to workers that wait in turn. These nine
// count only until predictions are scored, as one of them fits a few trials by chance.
func (p *Problem) setPriorMeans() {
	p.addMean(func(data.Config) (float64, bool) { return 0, true }, nil)
	if p.Options.JobTime {
		p.addMean(rootOfCores, nil)
	}
	if p.Options.JobTime && p.priced {
		p.addMean(func(c data.Config) (float64, bool) {
			price := p.Options.Price(c)
			return -math.Log(price), positive(price)
		}, nil)
	}
	usable := p.succeeded()
	for k := 0; k < 9 && !p.Options.JobTime && len(usable) <= recordFrom; k++ {
		ofSamples, ofWorkers := 0.5*float64(k/3), 0.5*float64(k%3)
		p.addMean(func(c data.Config) (float64, bool) {
			samples := cmp.Or(c.LocalBatch, 1) * float64(c.AccumSteps+1) // an unknown batch is constant
			return ofSamples*math.Log(samples) + ofWorkers*math.Log(float64(c.Workers)), true
		}, nil)
	}
	for _, form := range p.Options.Forms {
		of, err := form(usable)
		if err != nil || of == nil {
			continue // the other means suffice
		}
		p.addMean(of, foresee(form, usable))
	}
}

// refitGrowth is the growth of the history after which a form is fitted anew: a fit to five
// sixths of the trials foretells as the fit to all, and few are needed.
const refitGrowth = 1.2

// foresee predicts ln step time of each trial by a form fitted to trials before it.
func foresee(form MeanForm, trials []data.Measurement) []float64 {
	all := slices.Repeat([]float64{math.NaN()}, len(trials))
	var ends []int // of the trials that are fitted, and of all
	for n := 0; n < len(trials); n = max(n+1, int(refitGrowth*float64(n))) {
		ends = append(ends, n)
	}
	ends = append(ends, len(trials))
	parallel.Do(len(ends)-1, 1, func(i int) {
		before, err := form(trials[:ends[i]])
		for k := ends[i]; k < ends[i+1] && err == nil && before != nil; k++ {
			all[k], _ = before(trials[k].Config)
		}
	})
	return all
}

// addMean adds a prior mean if it is defined for every candidate, and differs
// from every earlier one by more than a constant.
func (p *Problem) addMean(of func(data.Config) (float64, bool), foreseen []float64) {
	t := priorMean{of: of, foreseen: foreseen}
	for _, c := range p.cands {
		m, ok := of(c)
		if !ok || !finite(m) {
			return
		}
		t.at = append(t.at, m)
	}
	for _, other := range p.priorMeans {
		apart := floats.SubTo(make([]float64, len(t.at)), t.at, other.at)
		if floats.Max(apart)-floats.Min(apart) < 1e-9 {
			return
		}
	}
	p.priorMeans = append(p.priorMeans, t)
}

// rootOfCores is −½·ln(total cores), of workers if cores are unknown.
func rootOfCores(c data.Config) (float64, bool) {
	cores := float64(c.Workers)
	if v := knob(c, coresKnob); v > 0 {
		cores *= v
	}
	return -0.5 * math.Log(cores), positive(cores)
}

// residuals returns the residuals of the observations from each prior mean, the
// variance of each observation, nil if all are unknown, and by how much each
// exceeds the lower bound that is known of it.
func (p *Problem) residuals() (x [][]float64, responses []response, noise, excess []float64) {
	responses = make([]response, len(p.priorMeans))
	known := 0.0
	for _, o := range p.observations {
		x, noise, known, excess = append(x, o.x), append(noise, o.variance), known+o.variance, append(excess, o.logTime-o.bound)
	}
	for k, t := range p.priorMeans {
		r := &responses[k]
		for i, o := range p.observations {
			r.y = append(r.y, o.logTime-o.priorMeans[k])
			if t.foreseen == nil {
				continue
			}
			before := o.priorMeans[k]
			if o.feasible && !finite(t.foreseen[o.success]) {
				r.from = i + 1
			} else if o.feasible {
				before = t.foreseen[o.success]
			}
			r.surprise = append(r.surprise, o.logTime-before)
		}
	}
	if known == 0 {
		noise = nil
	}
	return x, responses, noise, excess
}

// learn fits the model to the measurements, and then also to the running trials at their
// predicted results: the kriging believer (Ginsbourger, Le Riche and Carraro 2010, section
// 4.2). It returns nil if there are no usable measurements.
func (p *Problem) learn() (*Posterior, error) {
	if len(p.observations) == 0 {
		return nil, nil
	}
	fit := func() (*Posterior, error) {
		x, responses, noise, excess := p.residuals()
		prior := Prior{Noisy: p.Options.Noisy, Jumps: true, Effects: true, LengthSD: p.Options.Constants.LengthSD, RampShare: p.Options.Constants.RampShare}
		if !p.Options.JobTime {
			prior.Knobs, prior.Sizes = p.enc.ramped()
		}
		return averageOver(x, responses, noise, excess, prior, averageKeep, p.Options.Seed)
	}
	post, err := fit()
	if err != nil {
		return nil, err
	}
	if !math.IsInf(p.limit, 1) && p.Successes > 0 {
		p.impute(post)
		if post, err = fit(); err != nil {
			return nil, err
		}
	}
	record := post.record
	if len(p.running) > 0 {
		for _, i := range p.running {
			o, _ := p.observation(p.cands[i])
			o.index, o.logTime = -1, p.expected(post, i)-p.offset[i]
			p.observations = append(p.observations, o)
		}
		if post, err = fit(); err != nil {
			return nil, err
		}
	}
	// The record never narrows predictions: trials are where the search expects much, and
	// candidates elsewhere are predicted worse with narrower widths (BenchmarkTails).
	post.record, post.width = record, max(1, record.width(p.Options.Constants.RecordTrust))
	return post, nil
}

// censoredExcess is the assumed excess, in nats, over a time limit before the first fit.
const censoredExcess = 0.5

// impute sets the times of trials that met their time limit to their expectation given that
// bound and all other observations: the mean of a truncated normal distribution (one step
// of the expectation-maximisation of Schmee and Hahn, "A simple method for regression
// analysis with censored data", 1979).
func (p *Problem) impute(post *Posterior) {
	expected := make([]float64, len(p.observations))
	for _, m := range post.members {
		g := m.gp
		miss, sd := g.factor.LeaveOneOut(g.y)
		for k, o := range p.observations {
			mean, sd := o.logTime-miss[k], sd[k]*math.Sqrt(g.sigma2)
			u := (o.bound - mean) / sd
			expected[k] += m.share * (mean + sd*math.Exp(distuv.UnitNormal.LogProb(u)-normal.LogCDF(-u)))
		}
	}
	for k := range p.observations {
		if o := &p.observations[k]; !o.feasible {
			o.logTime = max(o.bound, expected[k])
		}
	}
}

// expected returns the posterior mean of the response of candidate i.
func (p *Problem) expected(post *Posterior, i int) float64 {
	m, _ := p.belief(post, i).Moments()
	return m
}

// belief returns the posterior of the response of candidate i.
func (p *Problem) belief(post *Posterior, i int) Predictive {
	b := post.Predict(p.Points[i])
	for k := range b.Mean {
		b.Mean[k] += p.priorMeans[post.members[k].form].at[i] + p.offset[i]
	}
	return b
}
