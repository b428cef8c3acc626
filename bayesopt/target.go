package bayesopt

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"slices"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/stat"
	"gonum.org/v1/gonum/stat/distuv"

	"knee/data"
)

// Target asks for the best configuration of a part of the space where trials may be
// impossible, such as the best layout on 256 workers with trials on at most 32.
type Target struct {
	At      func(data.Config) bool // where the best is sought; nil: everywhere
	Measure func(data.Config) bool // where trials may run; nil: everywhere
}

// JointModel fits a joint posterior of step times, such as the speed model of package fit,
// to at least one measurement with status ok. It returns ln step time (s) of each
// configuration in every draw, and the independent standard deviation about it of one run.
type JointModel func(measured []data.Measurement, at []data.Config) (ln [][]float64, sd []float64, err error)

// outlook is the posterior of the configurations at the target.
type outlook struct {
	wanted   []int       // candidates at the target
	response [][]float64 // response of each in every draw, plus its risk
	risk     []float64   // −ln P(fits) of each
	own      []float64   // standard deviation of each about its draws
	best     int         // index in wanted of the best
	regret   float64     // expected regret of the best, in nats
	better   float64     // probability that another is better by the target

	contenders []int // indices in wanted of candidates that are the best in some draw, and of the best
}

// decideTarget suggests the trial with the largest expected improvement of the answer: the
// knowledge gradient for correlated beliefs (Frazier, Powell and Dayanik, "The
// knowledge-gradient policy for correlated normal beliefs", 2009, section 2), with the
// moments of the model's posterior draws. The answer minimises mean plus one standard
// deviation, as the best mean of hundreds is probably too optimistic. So does the gradient:
// a single trial seldom changes which mean is best, but several together do.
func (p *Problem) decideTarget() (s Suggestion, err error) {
	open := p.Open()
	if p.Successes == 0 {
		if len(open) == 0 {
			return p.Exhausted(-1, math.NaN()), nil
		}
		i, reason := p.startPick()
		return p.Suggest(i, nil, reason), nil
	}
	ln, sd, err := p.draws()
	if err != nil && len(open) > 0 { // such as layouts before any was measured
		i, reason := p.startPick()
		return p.Suggest(i, nil, fmt.Sprintf("%s; not all can be predicted yet: %v", reason, err)), nil
	}
	if err != nil {
		return Suggestion{}, err
	}
	o := p.outlook(ln, sd)
	pick, most, least := -1, math.Inf(-1), 0.0
	for _, i := range open {
		g, known := p.fits[i]*o.gain(i, ln[i], sd[i]), stat.StdDev(ln[i], nil)
		if g > most || g == most && known > least { // where nothing is gained, the least known
			pick, most, least = i, g, known
		}
	}
	answer, at, stop := o.wanted[o.best], pick, ""
	if p.Successes >= minRecord && o.better < p.Options.Constants.StopChance {
		stop = fmt.Sprintf("stop after %d trials", p.Trials)
	}
	if pick < 0 || stop != "" && !p.Options.KeepGoing {
		at, s = answer, p.Stopped(answer, cmp.Or(stop, "stop: no candidate is left to measure")+"; "+p.answer(o))
	} else {
		s = p.Suggest(pick, nil, fmt.Sprintf("a trial of it is expected to improve the choice by %.2g %%; %s", 100*max(most, 0), p.answer(o)))
		s.Fired = stop
	}
	mean, spread := stat.MeanStdDev(ln[at], nil)
	run := Predictive{Mean: []float64{mean + p.offset[at]}, SD: []float64{math.Hypot(spread, sd[at])}, Weight: []float64{1}}
	s.Expected, s.Better = p.Options.Objective.estimate(run), o.better
	s.Best, s.Choice, s.Answer = answer, p.cands[answer], p.answer(o)
	return s, nil
}

// draws calls the model for all candidates. Running trials count as finished at their
// prediction, as in [Problem.learn].
func (p *Problem) draws() (ln [][]float64, sd []float64, err error) {
	measured := p.succeeded()
	ln, sd, err = p.Options.Model(measured, p.cands)
	if err != nil || len(p.running) == 0 {
		return ln, sd, err
	}
	for _, i := range p.running {
		measured = append(measured, data.Measurement{Config: p.cands[i], Status: data.OK, StepTime: math.Exp(stat.Mean(ln[i], nil))})
	}
	return p.Options.Model(measured, p.cands)
}

// outlook computes the posterior at the target. Expected speed is multiplied by P(fits),
// but another is better where it fits and is faster.
func (p *Problem) outlook(ln [][]float64, sd []float64) *outlook {
	o, rng := &outlook{}, p.Rand()
	var failed []int
	for i, c := range p.cands {
		switch {
		case p.wanted(c) && p.standing[i] == tried && p.looks[i] == 0: // it is no answer
			failed = append(failed, i)
		case p.wanted(c):
			o.wanted = append(o.wanted, i)
		}
	}
	if len(o.wanted) == 0 {
		o.wanted = failed
	}
	for _, i := range o.wanted {
		r := slices.Clone(ln[i])
		risk := -math.Log(max(p.fits[i], math.SmallestNonzeroFloat64)) // a memory model may be certain
		floats.AddConst(p.offset[i]+risk, r)
		o.response, o.risk, o.own = append(o.response, r), append(o.risk, risk), append(o.own, sd[i])
	}
	least, draws := math.Inf(1), len(o.response[0])
	for k, r := range o.response {
		if m, sd := stat.MeanStdDev(r, nil); m+math.Hypot(sd, o.own[k]) < least {
			o.best, least = k, m+math.Hypot(sd, o.own[k])
		}
	}
	margin, leading := p.Options.Objective.margin(p.Options.TargetRegret), map[int]bool{o.best: true}
	fitting := p.fitting(o.wanted, rng)
	for d := range draws {
		at, fits := make([]float64, len(o.response)), fitting()
		for k, r := range o.response {
			if at[k] = r[d] + o.own[k]*rng.NormFloat64(); k == o.best {
				continue
			}
			if at[k] -= o.risk[k]; !fits[k] {
				at[k] = math.Inf(1)
			}
		}
		first := floats.MinIdx(at)
		leading[first] = true
		behind := at[o.best] - at[first]
		o.regret += behind / float64(draws)
		if behind > margin {
			o.better += 1 / float64(draws)
		}
	}
	o.contenders = slices.Sorted(maps.Keys(leading))
	return o
}

// wanted reports whether a configuration is at the target.
func (p *Problem) wanted(c data.Config) bool {
	return p.Options.Target.At == nil || p.Options.Target.At(c)
}

// checkTarget fails if no candidate is at the target, or none may be measured.
func (p *Problem) checkTarget() error {
	bad := &data.InputError{Found: "no configuration there", Want: "a condition that some configuration of the space meets"}
	switch {
	case p.Options.Target == nil:
		return nil
	case !slices.ContainsFunc(p.cands, p.wanted):
		bad.Source.Column = "objective.at"
	case !slices.ContainsFunc(p.standing, func(s standing) bool { return s != barred }):
		bad.Source.Column = "objective.measure"
	default:
		return nil
	}
	return bad
}

// gainPoints equally likely outcomes of a trial are averaged for the knowledge gradient.
const gainPoints = 32

// gain returns the expected decrease, in nats, of the least mean plus standard deviation of
// the contenders by a trial of candidate i if that succeeds, with its ln and sd of draws.
func (o *outlook) gain(i int, ln []float64, sd float64) float64 {
	scale, now := math.Hypot(stat.StdDev(ln, nil), sd), math.Inf(1)
	level, slope := make([]float64, len(o.contenders)), make([]float64, len(o.contenders))
	for k, c := range o.contenders {
		mean, variance := stat.MeanVariance(o.response[c], nil)
		now = min(now, mean+math.Hypot(math.Sqrt(variance), o.own[c]))
		slope[k] = stat.Covariance(o.response[c], ln, nil) / scale
		level[k] = mean + math.Hypot(math.Sqrt(max(variance-slope[k]*slope[k], 0)), o.own[c])
		if o.wanted[c] == i {
			level[k] -= o.risk[c]
		}
	}
	gain := now
	for j := range gainPoints {
		z, least := distuv.UnitNormal.Quantile((float64(j)+.5)/gainPoints), math.Inf(1)
		for k := range level {
			least = min(least, level[k]+slope[k]*z)
		}
		gain -= least / gainPoints
	}
	if gain < 1e-12 { // rounding
		return 0
	}
	return gain
}

// answer formats the present choice and the probability of a better one.
func (p *Problem) answer(o *outlook) string {
	return fmt.Sprintf("the choice is %s: another is better by %s with probability %s, expected regret %s",
		p.cands[o.wanted[o.best]], shareText(p.Options.TargetRegret), shareText(o.better), shareText(math.Expm1(o.regret)))
}
