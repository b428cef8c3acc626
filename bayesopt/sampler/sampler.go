// Package sampler joins the search with goptuna: the Gaussian process as a
// sampler for goptuna programs, and a search as a goptuna study.
package sampler

import (
	"errors"
	"math"
	"sync"
	"time"

	"github.com/c-bata/goptuna"
	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/stat"

	"knee/bayesopt"
)

// SamplerOptions configures a [Sampler]. The zero value is usable.
type SamplerOptions struct {
	// Seed makes the study reproducible.
	Seed int64

	// Exact says that the objective is computed, not measured: evaluating a
	// point again would give the same value to a fraction of a per cent.
	Exact bool

	// StaleAfter is the age at which a trial that is still running is given
	// up for lost: it is marked failed and no longer avoided. 0 means never.
	StaleAfter time.Duration
}

// Sampler is Bayesian optimisation as a goptuna.RelativeSampler: a Gaussian
// process over all parameters together, averaged over its hyperparameters, and
// the logarithm of the expected improvement. It takes every distribution of
// goptuna v0.9.0 and either direction. Make one with [NewSampler], and always
// give the study its search space with goptuna.StudyOptionDefineSearchSpace:
// without it goptuna infers one, and panics on categorical parameters.
//
// Finite spaces of up to 4096 points are searched exhaustively, and no point
// is proposed twice before all were. Trials of other goroutines that are still
// running are taken into account. Sampling never fails, because goptuna would
// leave the trial running for ever: if anything goes wrong the next point of
// an evenly spread sequence is proposed.
//
// A Sampler is safe for concurrent use.
type Sampler struct {
	opts SamplerOptions

	mu      sync.Mutex
	pending map[int]map[string]float64 // proposals by trial id
}

var _ goptuna.RelativeSampler = (*Sampler)(nil)

// NewSampler returns a sampler.
func NewSampler(o SamplerOptions) *Sampler {
	return &Sampler{opts: o, pending: map[int]map[string]float64{}}
}

// SampleRelative implements goptuna.RelativeSampler. The values are internal
// representations. The error is nil for every distribution known here, and
// goptuna.ErrUnsupportedSearchSpace, which goptuna handles, for others.
func (s *Sampler) SampleRelative(study *goptuna.Study, trial goptuna.FrozenTrial, dists map[string]interface{}) (map[string]float64, error) {
	if len(dists) == 0 {
		return nil, nil
	}
	axes, err := newAxes(dists)
	if err != nil {
		return nil, goptuna.ErrUnsupportedSearchSpace
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	u := bayesopt.QuasiRandom(len(axes), s.opts.Seed, trial.Number)
	if past, err := s.look(study, trial.ID, axes); err == nil {
		u = s.propose(axes, past, trial.Number, u)
	}
	s.pending[trial.ID] = values(axes, u)
	return s.pending[trial.ID], nil
}

// trials is what is known of a study: x and y of the finished trials, smaller
// is better, NaN for those without a value.
type trials struct {
	x, running [][]float64
	y          []float64
	tried      map[string]bool
	best       []float64 // the point of the least y in the unit cube, nil if there is none
}

// look collects the trials of the study. The maps of trials that are still
// running belong to the goroutines that run them; their points are taken from
// this sampler's own record of what it proposed.
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
			if x, key, ok := features(axes, s.pending[t.ID]); !s.lost(study, t) && ok {
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
			least, past.best = y, make([]float64, len(axes))
			for j, a := range axes {
				past.best[j] = a.unit(t.InternalParams[a.name])
			}
		}
	}
	return past, nil
}

// lost reports whether a trial has been running for too long, and marks it as
// failed then.
func (s *Sampler) lost(study *goptuna.Study, t *goptuna.FrozenTrial) bool {
	if s.opts.StaleAfter <= 0 || t.DatetimeStart.IsZero() || time.Since(t.DatetimeStart) < s.opts.StaleAfter {
		return false
	}
	// A trial that finished meanwhile cannot be updated: just as good.
	_ = study.Storage.SetTrialState(t.ID, goptuna.TrialStateFail)
	return true
}

// value returns that of a finished trial, the last intermediate one of a pruned
// trial; NaN if it has none that is finite.
func value(t *goptuna.FrozenTrial) float64 {
	v := math.NaN()
	switch t.State {
	case goptuna.TrialStateComplete:
		v = t.Value
	case goptuna.TrialStatePruned:
		if step, ok := t.GetLatestStep(); ok {
			v = t.IntermediateValues[step]
		}
	}
	if math.IsInf(v, 0) {
		return math.NaN()
	}
	return v
}

// propose picks the next point: the one nearest to u at first, by the model
// later, and none twice if the space is finite and another is left.
func (s *Sampler) propose(axes []axis, past *trials, number int, u []float64) []float64 {
	rng := bayesopt.NewRand(s.opts.Seed, number)
	score := func(at, _ []float64) float64 { return -floats.Distance(at, u, 2) }
	if len(past.x) >= min(max(2*len(axes), 4), 12) && past.best != nil {
		if model, err := past.fit(s.opts); err == nil {
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

// Half a standard deviation worse than the worst trial is what one without a
// value is taken to be; in a continuous space the mixture is evaluated at about
// a thousand points per trial, so that it has few members.
const failurePenalty, members = .5, 16

// fit standardises y and returns the model of it, with the running trials at
// their predictions.
func (past *trials) fit(o SamplerOptions) (*bayesopt.Posterior, error) {
	var known []float64
	for _, v := range past.y {
		if !math.IsNaN(v) {
			known = append(known, v)
		}
	}
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
	x, y, prior := past.x, past.y, bayesopt.Prior{Exact: o.Exact}
	post, err := bayesopt.AverageGP(x, y, prior, members, o.Seed)
	if err != nil || len(past.running) == 0 {
		return post, err
	}
	for _, at := range past.running {
		expected, _ := post.Predict(at).Moments()
		x, y = append(x, at), append(y, expected)
	}
	return bayesopt.AverageGP(x, y, prior, members, o.Seed)
}
