package profile

import (
	"context"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"knee/bayesopt"
	"knee/bayesopt/baseline"
	"knee/data"
	"knee/fit"
	"knee/fit/gradnoise"
	"knee/fit/memory"
	"knee/fit/speed"
	"knee/fit/speed/form"
	"knee/profile/space"
	"knee/profile/store"
)

// Search holds search settings that are not in the study; zero is the default.
type Search struct {
	Strategy string // one of baseline.Strategies; empty for guided
	// Once excludes repeated measurements of a configuration.
	Once bool
	// TargetRegret is how much worse than the best is accepted, a fraction; 0 means 0.05.
	TargetRegret float64
	// Warm, if not nil, is the model of a similar job or cluster: one more mean function, weighted
	// by how well it predicts the trials.
	Warm *fit.Model
}

// NewStrategy returns the strategy of a study. efficiency is that of a global batch, (0, 1];
// nil: 1. Errors: an objective that is not supported (*data.InputError), and a Warm model
// that cannot predict some candidate.
func NewStrategy(s *data.Study, how Search, efficiency func(globalBatch float64) float64) (bayesopt.Strategy, error) {
	o, err := searchOptions(s, efficiency)
	if err != nil {
		return nil, err
	}
	o.Once, o.TargetRegret = how.Once, how.TargetRegret
	if o.Target, err = targetOf(s); err != nil {
		return nil, err
	}
	if o.Target != nil && how.Strategy != "" && how.Strategy != baseline.Guided {
		return nil, &data.InputError{Source: data.Source{File: s.Source.File, Column: "objective.at"}, Found: "strategy " + how.Strategy, Want: baseline.Guided + ", the only strategy that plans for configurations outside measure"}
	}
	if how.Warm != nil {
		candidates, err := space.Candidates(s)
		if err != nil {
			return nil, err
		}
		for _, c := range candidates { // a mean function must cover them all
			if _, err := how.Warm.StepTime(c); err != nil {
				return nil, fmt.Errorf("start from the model of job %q: %s: %w", how.Warm.Job(), c, err)
			}
		}
		o.Forms = append(o.Forms, warmStart(how.Warm))
	}
	return baseline.NewStrategy(how.Strategy, o)
}

func searchOptions(s *data.Study, efficiency func(globalBatch float64) float64) (bayesopt.Options, error) {
	if s.Objective.Deadline > 0 && s.Objective.Samples == 0 {
		return bayesopt.Options{}, &data.InputError{Source: data.Source{File: s.Source.File, Column: "objective.deadline"},
			Found: s.Objective.Deadline.String() + " without samples", Want: "samples: the work to finish by then, in samples at the initial batch"}
	}
	o := bayesopt.Options{Objective: bayesopt.ObjectiveOf(s.Objective), Efficiency: efficiency, Seed: s.Seed, TrialSeconds: s.Trial.MaxSeconds,
		Work: s.Objective.Samples, Deadline: s.Objective.Deadline.Seconds(), Forms: SpeedForms(), Model: SpeedModel(s.Model, s.Seed), Trials: s.Budget.Trials,
		Memory: memory.Feasibility{Architecture: s.Model}.Fits,
		// On real machines runs of one configuration differ by several per cent.
		Noisy: s.Launcher.Replay == nil}
	if slices.ContainsFunc(s.Space, func(k data.Knob) bool { return slices.Contains(data.LayoutNames(), k.Name) }) {
		o.Forms = LayoutForms(s.Model)
	}
	if len(s.PricePerHour) > 0 {
		o.Price = func(c data.Config) float64 { return Price(s, c) }
	}
	return o, nil
}

// warmStart is a model fitted elsewhere, a prior mean without parameters.
func warmStart(model *fit.Model) bayesopt.MeanForm {
	return func([]data.Measurement) (func(data.Config) (float64, bool), error) {
		return func(c data.Config) (float64, bool) {
			t, err := model.StepTime(c)
			return math.Log(t), err == nil
		}, nil
	}
}

// SpeedForms returns, for [bayesopt.Options.Forms], the family that fit would choose for each
// mode, in workers, servers, placement and batch.
func SpeedForms() []bayesopt.MeanForm { return []bayesopt.MeanForm{speedForm} }

// LayoutForms returns [SpeedForms] and the layout form with the parameters expected from other
// jobs. a is the architecture of the model, zero if not known.
func LayoutForms(a data.Architecture) []bayesopt.MeanForm {
	return []bayesopt.MeanForm{layoutPrior(a), speedForm}
}

// layoutPrior is the layout form as expected of a job without measurements.
func layoutPrior(a data.Architecture) bayesopt.MeanForm {
	return func([]data.Measurement) (func(data.Config) (float64, bool), error) {
		of := map[string]func(data.Config) form.LayoutParts{}
		return func(c data.Config) (float64, bool) {
			if c.Mode.UsesPS() || c.LocalBatch <= 0 {
				return 0, false
			}
			if of[c.GPUType] == nil {
				of[c.GPUType] = speed.ExpectedParts(c.GPUType, a)
			}
			return math.Log(of[c.GPUType](c).Step()), true
		}, nil
	}
}

// speedForm is the speed family of each mode, fitted to the trials so far.
func speedForm(measured []data.Measurement) (func(data.Config) (float64, bool), error) {
	if len(measured) < minFormTrials {
		return nil, nil
	}
	model, err := speed.Fit(context.Background(), measured, speed.Settings{FormOnly: true})
	if err != nil {
		return nil, err
	}
	return func(c data.Config) (float64, bool) { return logTimer(model, c) }, nil
}

// minFormTrials is the number of trials below which a fit adds nothing.
const minFormTrials = 3

// logTimer returns ln step time (s) by the fitted form. A GPU type without measurements gets
// that of the first measured one; the search learns the ratio.
func logTimer(model *speed.Model, c data.Config) (float64, bool) {
	if model.Timer(c.GPUType, c.ModeOrDefault()) == nil {
		for _, gpu := range model.GPUTypes() {
			if model.Timer(gpu, c.ModeOrDefault()) != nil {
				c.GPUType = gpu
				break
			}
		}
	}
	c, err := model.Resolve(c)
	if err != nil {
		return 0, false
	}
	t := model.Timer(c.GPUType, c.Mode).StepTime(c)
	return math.Log(t), t > 0 && !math.IsInf(t, 1)
}

// SpeedModel returns the posterior of package fit for a search. a is the architecture
// of the model, zero if not known; seed is that of the fit.
func SpeedModel(a data.Architecture, seed int64) bayesopt.JointModel {
	return func(measured []data.Measurement, at []data.Config) (ln [][]float64, sd []float64, err error) {
		rows := slices.Clone(measured)
		for i := range rows {
			if rows[i].Architecture.Zero() {
				rows[i].Architecture = a
			}
		}
		model, err := fit.Fit(rows, fit.Settings{Seed: seed})
		if err != nil {
			return nil, nil, err
		}
		ln, sd, run, err := model.Draws(at)
		for i := range sd {
			sd[i] = math.Sqrt(sd[i] + run[i])
		}
		return ln, sd, err
	}
}

// targetOf returns objective.at and objective.measure, nil if neither is set.
func targetOf(s *data.Study) (*bayesopt.Target, error) {
	if len(s.Objective.At) == 0 && len(s.Objective.Measure) == 0 {
		return nil, nil
	}
	at, err := space.Condition(s, "at", s.Objective.At)
	if err != nil {
		return nil, err
	}
	measure, err := space.Condition(s, "measure", s.Objective.Measure)
	if err != nil {
		return nil, err
	}
	return &bayesopt.Target{At: at, Measure: measure}, nil
}

// Efficiency returns the statistical efficiency (0, 1] at a global batch (samples) by the
// trials so far; 1 without an estimate.
func (r *Runner) Efficiency(globalBatch float64) float64 {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.noise == nil || r.noiseAt != len(r.results) { // there are more curves
		r.noiseAt = len(r.results)
		var curves []data.CurvePoint
		for _, e := range store.ByNumber(r.results) {
			curves = append(curves, e.Curve...)
		}
		r.noise = EfficiencyOf(curves, r.Study)
	}
	return r.noise(globalBatch)
}

// EfficiencyOf is the statistical efficiency (0, 1] at a global batch (samples) by training curves;
// 1 without gradient statistics.
func EfficiencyOf(curves []data.CurvePoint, s *data.Study) func(globalBatch float64) float64 {
	scale, err := gradnoise.Fit(curves, s.Batch.Initial)
	if err != nil {
		return func(float64) float64 { return 1 }
	}
	return func(m float64) float64 { return scale.Efficiency(m).Mean }
}

// Suggest returns up to n configurations to measure next, given measurements and training
// curves, of a study that [Run] would accept. Earlier suggestions count as running. If the
// strategy stops at once, the only one has Stop set; there are fewer than n if no other is
// worth a trial before the first ones.
func Suggest(s *data.Study, how Search, history []data.Measurement, curves []data.CurvePoint, n int) ([]bayesopt.Suggestion, error) {
	candidates, err := space.Candidates(s)
	if err != nil {
		return nil, err
	}
	if err := checkLaunches(s, candidates); err != nil {
		return nil, err
	}
	chooser, err := NewStrategy(s, how, EfficiencyOf(curves, s))
	if err != nil {
		return nil, err
	}
	h := bayesopt.History{Candidates: candidates, Measured: history}
	var next []bayesopt.Suggestion
	for range n {
		one, err := chooser.Next(h)
		if err != nil {
			return nil, err
		}
		if one.Stop && len(next) > 0 {
			break
		}
		if next = append(next, one); one.Stop {
			break
		}
		h.Running = append(h.Running, one.Config)
	}
	return next, nil
}

// List is the strategy that measures the candidates in their order, each once.
type List struct{}

func (List) Next(h bayesopt.History) (bayesopt.Suggestion, error) {
	for i, c := range h.Candidates {
		is := func(known data.Config) bool { return known.Key() == c.Key() }
		if !slices.ContainsFunc(h.Running, is) && !slices.ContainsFunc(h.Measured, func(m data.Measurement) bool { return is(m.Config) }) {
			return bayesopt.Suggestion{Index: i, Config: c, PFeasible: 1, Reason: "next in the list"}, nil
		}
	}
	return bayesopt.Suggestion{Stop: true, Reason: "every candidate has been measured"}, nil
}

// Recognise gives measurements made elsewhere, which may say more, the configurations of the
// study. strangers counts those of none, or of several: the search learns from them too.
func Recognise(s *data.Study, measured []data.Measurement) (out []data.Measurement, strangers int, err error) {
	candidates, err := space.Candidates(s)
	if err != nil {
		return nil, 0, err
	}
	out = slices.Clone(measured)
	for i := range out {
		m, found, matches := &out[i].Config, 0, 0
		for at := range candidates {
			if belongs(m, &candidates[at]) {
				found, matches = at, matches+1
			}
		}
		if matches != 1 {
			strangers++
			continue
		}
		size := m.Architecture
		*m = candidates[found]
		m.Architecture = m.Architecture.Or(size)
	}
	return out, strangers, nil
}

// belongs reports whether a measured configuration agrees with a candidate.
func belongs(measured, c *data.Config) bool {
	if measured.Workers != c.Workers || measured.PS != c.PS || measured.LocalBatch != c.LocalBatch {
		return false
	}
	for name, v := range c.Extra {
		if !sameValue(measured.Extra[name], v) {
			return false
		}
	}
	if len(c.Placement) > 0 || c.Nodes > 0 {
		if measured.NodeCount() != c.NodeCount() || len(measured.Placement) > 0 && len(c.Placement) > 0 && measured.Placement.String() != c.Placement.String() {
			return false
		}
	}
	same := *measured // but for what the candidate leaves open, or was compared
	same.Extra, same.Placement, same.Nodes = c.Extra, c.Placement, c.Nodes
	if c.GPUType == "" {
		same.GPUType = ""
	}
	return same.Key() == c.Key()
}

// sameValue reports texts equal but for the case, as True and true, or the same number.
func sameValue(a, b string) bool {
	x, xErr := strconv.ParseFloat(a, 64)
	y, yErr := strconv.ParseFloat(b, 64)
	return strings.EqualFold(a, b) || xErr == nil && yErr == nil && x == y
}
