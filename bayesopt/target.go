package bayesopt

import (
	"errors"
	"fmt"
	"math"
	"slices"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/stat"
	"gonum.org/v1/gonum/stat/distuv"

	"knee/data"
)

// Target asks for the best configuration of a part of the space that may be out
// of reach of trials, such as the best layout on 256 workers where trials run
// on at most 32.
type Target struct {
	At      func(data.Config) bool // where the best is wanted; nil is everywhere
	Measure func(data.Config) bool // where trials may run; nil is everywhere
	Model   JointModel
}

// JointModel is a posterior of the step time of all configurations together,
// such as the speed model of package fit.
type JointModel interface {
	// Draws fits the model to measurements with status ok, at least one, and
	// returns ln step time (s) of each configuration in every draw, and the
	// standard deviation of one run about it.
	Draws(measured []data.Measurement, at []data.Config) (ln [][]float64, sd []float64, err error)
}

// outlook is what the draws say of the configurations that are wanted.
type outlook struct {
	wanted   []int       // candidates that may be the answer
	response [][]float64 // of each in every draw of the model; one that may not fit is worth as much less
	best     int         // position in wanted of the answer
	regret   float64     // expected, of the best, in nats
	better   float64     // probability that another is better by the target
}

// decideTarget suggests the trial that is expected to improve the choice of the
// answer most: the knowledge gradient for correlated beliefs (Frazier, Powell
// and Dayanik, "The knowledge-gradient policy for correlated normal beliefs",
// 2009, section 2), with the moments of the model's posterior draws. A trial
// moves the expectation of every answer as it covaries with the trial. The answer
// itself is the best of one standard deviation worse than expected: of hundreds
// the model is most wrong about the one that it takes for the best.
func (p *Problem) decideTarget() (Suggestion, error) {
	open := p.Open()
	if p.Successes() == 0 {
		if len(open) == 0 {
			return p.Exhausted(-1), nil
		}
		i, reason := p.startPick()
		return p.suggest(i, nil, reason), nil
	}
	ln, sd, err := p.draws()
	if err != nil && len(open) > 0 { // such as layouts after trials without any
		i, reason := p.startPick()
		return p.suggest(i, nil, fmt.Sprintf("%s; not all can be predicted yet: %v", reason, err)), nil
	}
	if err != nil {
		return Suggestion{}, err
	}
	o, err := p.outlook(ln)
	if err != nil {
		return Suggestion{}, err
	}
	pick, most, contenders := -1, math.Inf(-1), o.contenders()
	for _, i := range open {
		g := p.fits[i] * gain(contenders, ln[i], sd[i])
		if g > most || g == most && p.priority(i) > p.priority(pick) {
			pick, most = i, g
		}
	}
	answer := o.wanted[o.best]
	stop := p.targetReached(o, most)
	if pick < 0 || stop != "" && !p.opts.KeepGoing {
		if stop == "" {
			stop = "stop: nothing is left to measure"
		}
		s := p.Stopped(answer, stop+"; "+p.answer(o))
		s.Expected, s.Better, s.Choice = p.drawn(answer, ln[answer], sd[answer]), o.better, p.cands[answer]
		return s, nil
	}
	s := p.suggest(pick, nil, fmt.Sprintf("a trial of it is expected to improve the choice by %.2g %%; %s", 100*max(most, 0), p.answer(o)))
	s.Expected, s.PFeasible = p.drawn(pick, ln[pick], sd[pick]), p.fits[pick]
	s.Best, s.Better, s.Fired, s.Choice = answer, o.better, stop, p.cands[answer]
	return s, nil
}

// draws returns ln step time of every candidate in every draw of the model,
// given the trials, and given that those that are running come out as the draw
// says (Matheron's rule), and the standard deviation of one run.
func (p *Problem) draws() (ln [][]float64, sd []float64, err error) {
	if ln, sd, err = p.opts.Target.Model.Draws(p.succeeded(), p.cands); err != nil {
		return nil, nil, err
	}
	rng := p.Rand()
	for _, c := range p.history.Running {
		r, known := p.index[c.Key()]
		if !known {
			continue
		}
		mean, variance := stat.MeanVariance(ln[r], nil)
		excess := make([]float64, len(ln[r]))
		for d, v := range ln[r] {
			excess[d] = v + sd[r]*rng.NormFloat64() - mean
		}
		at := append([]float64(nil), ln[r]...)
		for _, row := range ln {
			floats.AddScaled(row, -stat.Covariance(row, at, nil)/(variance+sd[r]*sd[r]), excess)
		}
	}
	return ln, sd, nil
}

// extrapolationSD is by how much, in nats, the law of a model is off for every
// doubling of a feature beyond those measured.
const extrapolationSD = 0.1

// extrapolated returns draws of some candidates to which is added that the model
// may be wrong beyond what was measured, where no trial can tell: linearly in
// every feature.
func (p *Problem) extrapolated(of []int, ln [][]float64) [][]float64 {
	rng, wrong := p.Rand(), make([][]float64, len(p.width)) // per unit of the feature, in every draw
	low, high := slices.Repeat([]float64{math.Inf(1)}, len(p.width)), slices.Repeat([]float64{math.Inf(-1)}, len(p.width))
	for j := range wrong {
		wrong[j] = make([]float64, len(ln[0]))
		for d := range wrong[j] {
			wrong[j][d] = extrapolationSD * rng.NormFloat64()
		}
		for _, o := range p.observations {
			low[j], high[j] = min(low[j], o.x[j]), max(high[j], o.x[j])
		}
	}
	out := make([][]float64, len(of))
	for k, i := range of {
		out[k] = slices.Clone(ln[k])
		for j, v := range p.points[i] {
			floats.AddScaled(out[k], max(0, v-high[j], low[j]-v)*p.width[j], wrong[j])
		}
	}
	return out
}

// outlook judges the configurations that are wanted. What may not fit yields
// nothing where it does not: its expected speed is less by the probability.
func (p *Problem) outlook(ln [][]float64) (*outlook, error) {
	o := &outlook{}
	for i, c := range p.cands {
		if at := p.opts.Target.At; at == nil || at(c) {
			r := append([]float64(nil), ln[i]...)
			floats.AddConst(p.offset[i]-math.Log(p.fits[i]), r)
			o.wanted, o.response = append(o.wanted, i), append(o.response, r)
		}
	}
	if len(o.wanted) == 0 {
		return nil, &data.InputError{Source: data.Source{Column: "objective.at"}, Found: "no candidate there", Want: "a condition that some configuration of the space meets"}
	}
	feared, least := p.extrapolated(o.wanted, o.response), math.Inf(1)
	for k, r := range feared {
		if m, sd := stat.MeanStdDev(r, nil); m+sd < least {
			o.best, least = k, m+sd
		}
	}
	margin, draws := p.opts.Objective.margin(p.opts.TargetRegret), len(o.response[0])
	for d := range draws {
		behind := feared[o.best][d] - feared[first(feared, d)][d]
		o.regret += behind / float64(draws)
		if behind > margin {
			o.better += 1 / float64(draws)
		}
	}
	return o, nil
}

// first returns the position of the least response in a draw.
func first(response [][]float64, d int) int {
	best := 0
	for k, r := range response {
		if r[d] < response[best][d] {
			best = k
		}
	}
	return best
}

// contenders leaves those that are the best in some draw.
func (o *outlook) contenders() [][]float64 {
	keep := map[int]bool{o.best: true}
	for d := range o.response[0] {
		keep[first(o.response, d)] = true
	}
	var out [][]float64
	for k, r := range o.response {
		if keep[k] {
			out = append(out, r)
		}
	}
	return out
}

// gainPoints is the number of outcomes of a trial, equally likely ones, over
// which the knowledge gradient is averaged.
const gainPoints = 32

// gain returns by how much a trial is expected to lower the least expected of
// some responses, in nats. ln is that of the trial in every draw, sd of one run
// about it.
func gain(responses [][]float64, ln []float64, sd float64) float64 {
	scale := math.Hypot(stat.StdDev(ln, nil), sd)
	level, slope := make([]float64, len(responses)), make([]float64, len(responses))
	for k, r := range responses {
		level[k], slope[k] = stat.Mean(r, nil), stat.Covariance(r, ln, nil)/scale
	}
	gain := floats.Min(level)
	for j := range gainPoints {
		z, least := distuv.UnitNormal.Quantile((float64(j)+.5)/gainPoints), math.Inf(1)
		for k := range level {
			least = min(least, level[k]+slope[k]*z)
		}
		gain -= least / gainPoints
	}
	return gain
}

// targetReached says why the search should end, nothing if it should not: the
// answer is probably within the target, or no trial is expected to tell more.
func (p *Problem) targetReached(o *outlook, gain float64) string {
	chance, target := p.opts.Constants.StopChance, p.opts.TargetRegret
	switch {
	case p.Successes() < minRecord:
		return ""
	case o.better < chance:
		return fmt.Sprintf("stop after %d trials", p.trials)
	case gain < chance*target:
		return fmt.Sprintf("stop after %d trials: no trial there is expected to improve the choice by %s", p.trials, shareText(chance*target))
	}
	return ""
}

// answer names the present choice, and the probability of a better one.
func (p *Problem) answer(o *outlook) string {
	return fmt.Sprintf("the choice is %s: another is better by %s with probability %s, expected regret %s",
		p.cands[o.wanted[o.best]], shareText(p.opts.TargetRegret), shareText(o.better), shareText(math.Expm1(o.regret)))
}

// drawn is the estimate of the objective of one run of a candidate.
func (p *Problem) drawn(i int, ln []float64, sd float64) data.Estimate {
	mean, spread := stat.MeanStdDev(ln, nil)
	return p.opts.Objective.estimate(Predictive{Mean: []float64{mean + p.offset[i]}, SD: []float64{math.Hypot(spread, sd)}, Weight: []float64{1}})
}

// check refuses a target that cannot be pursued.
func (t *Target) check(o Options) error {
	switch {
	case t == nil:
		return nil
	case t.Model == nil:
		return errors.New("target: no model, want one that predicts what is not measured")
	case o.Objective == Accuracy:
		return errors.New("target with objective accuracy, want throughput, goodput, step_time or cost_to_target")
	case o.Deadline > 0:
		return errors.New("target with a deadline, want one of the two")
	}
	return nil
}
