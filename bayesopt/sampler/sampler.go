// Package sampler connects bayesopt and goptuna: the Gaussian process as a
// goptuna sampler, and a search as a goptuna study.
package sampler

import (
	"errors"
	"math"
	"slices"
	"sync"

	"github.com/c-bata/goptuna"
	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/stat"

	"knee/bayesopt"
	"knee/internal/list"
)

// Sampler is a goptuna.RelativeSampler: a Gaussian process over all parameters, averaged
// over its hyperparameters, and the logarithm of the expected improvement. It supports
// every distribution of goptuna v0.9.0 and both directions. Define the search space with
// goptuna.StudyOptionDefineSearchSpace: otherwise goptuna infers one, and panics on
// categorical parameters.
//
// Finite spaces of up to 4096 points are searched exhaustively, without repeats until all
// were tried. Running trials of other goroutines are taken into account, those of other
// processes are not. Sampling does not fail, as goptuna would leave the trial running: on
// an error it proposes the next point of a quasi-random sequence. It is safe for concurrent
// use.
type Sampler struct {
	seed int64

	mu      sync.Mutex
	pending map[int]map[string]float64 // proposals by trial id
}

var _ goptuna.RelativeSampler = (*Sampler)(nil)

// NewSampler returns a sampler; the seed makes a study reproducible.
func NewSampler(seed int64) *Sampler {
	return &Sampler{seed: seed, pending: map[int]map[string]float64{}}
}

// SampleRelative implements goptuna.RelativeSampler. The values are internal
// representations. For an unknown distribution the error is
// goptuna.ErrUnsupportedSearchSpace, which goptuna handles; otherwise it is nil.
func (s *Sampler) SampleRelative(study *goptuna.Study, trial goptuna.FrozenTrial, dists map[string]interface{}) (map[string]float64, error) {
	if len(dists) == 0 {
		return nil, nil
	}
	axes, err := newAxes(dists)
	if err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	u := bayesopt.QuasiRandom(len(axes), s.seed, trial.Number)
	if past, err := s.look(study, trial.ID, axes); err == nil {
		u = s.propose(axes, past, trial.Number, u)
	}
	s.pending[trial.ID] = values(axes, u)
	return s.pending[trial.ID], nil
}

// trials are points and values of finished trials, smaller is better, NaN without a value.
type trials struct {
	x, running [][]float64
	y          []float64
	tried      map[string]bool
	best       []float64 // point of the least y in the unit cube, nil without one
}

// look collects the trials of the study. Parameters of running trials come from this
// sampler's proposals, as the maps in the study belong to other goroutines.
func (s *Sampler) look(study *goptuna.Study, self int, axes []axis) (*trials, error) {
	all, err := study.GetTrials()
	if err != nil && !errors.Is(err, goptuna.ErrTrialsPartiallyDeleted) {
		return nil, err
	}
	past, least := &trials{tried: map[string]bool{}}, math.Inf(1)
	for i := range all {
		t := &all[i]
		if t.State == goptuna.TrialStateWaiting || t.ID == self {
			continue
		}
		if t.State == goptuna.TrialStateRunning {
			if x, key, ok := features(axes, s.pending[t.ID]); ok {
				past.running, past.tried[key] = append(past.running, x), true
			}
			continue
		}
		delete(s.pending, t.ID)
		x, key, ok := features(axes, t.InternalParams)
		if !ok {
			continue
		}
		y := value(t)
		if study.Direction() == goptuna.StudyDirectionMaximize {
			y = -y
		}
		past.x, past.y, past.tried[key] = append(past.x, x), append(past.y, y), true
		if y < least {
			least, past.best = y, list.Map(axes, func(a axis) float64 { return a.unit(t.InternalParams[a.name]) })
		}
	}
	return past, nil
}

// value returns the value of a finished trial, NaN if there is no finite one.
func value(t *goptuna.FrozenTrial) float64 {
	pruned := t.State == goptuna.TrialStatePruned && len(t.IntermediateValues) > 0 // its value is the last of them
	if t.State != goptuna.TrialStateComplete && !pruned || math.IsInf(t.Value, 0) {
		return math.NaN()
	}
	return t.Value
}

// propose returns the next point: the nearest to u in the beginning, then by the model; none
// twice while a finite space has untried points.
func (s *Sampler) propose(axes []axis, past *trials, number int, u []float64) []float64 {
	rng := bayesopt.NewRand(s.seed, number)
	score := func(at, _ []float64) float64 { return -floats.Distance(at, u, 2) }
	if len(past.x) >= min(max(2*len(axes), 4), 12) && past.best != nil {
		if model, err := past.fit(s.seed); err == nil {
			least := floats.Min(past.y)
			score = func(_, x []float64) float64 { return model.Predict(x).Average(bayesopt.LogEI, least) }
		}
	}
	pick, top := u, math.Inf(-1)
	for _, at := range append(pool(axes, past.best, rng), u) {
		x, key, ok := features(axes, values(axes, at))
		if !ok || past.tried[key] {
			continue
		}
		if v := score(at, x); v > top {
			pick, top = at, v
		}
	}
	return pick
}

// A trial without a value counts as failurePenalty standard deviations worse than the
// worst. The mixture has few members, as a continuous space needs a thousand evaluations.
const failurePenalty, members = .5, 16

// fit standardises y and fits the model, with running trials at their predictions.
func (past *trials) fit(seed int64) (*bayesopt.Posterior, error) {
	known := slices.DeleteFunc(slices.Clone(past.y), math.IsNaN)
	level, sd := stat.PopMeanStdDev(known, nil)
	if !(sd > 0) {
		sd = 1
	}
	for i, v := range past.y {
		if math.IsNaN(v) {
			v = floats.Max(known) + failurePenalty*sd
		}
		past.y[i] = (v - level) / sd
	}
	x, y := past.x, past.y
	post, err := bayesopt.AverageGP(x, y, bayesopt.Prior{}, members, seed)
	if err != nil || len(past.running) == 0 {
		return post, err
	}
	for _, at := range past.running {
		expected, _ := post.Predict(at).Moments()
		x, y = append(x, at), append(y, expected)
	}
	return bayesopt.AverageGP(x, y, bayesopt.Prior{}, members, seed)
}
