// Package sampler joins the search with goptuna: the Gaussian process as a
// sampler for goptuna programs, and any goptuna sampler as a strategy of ours.
package sampler

import (
	"errors"
	"math"
	"math/rand/v2"
	"sync"
	"time"

	"github.com/c-bata/goptuna"

	"knee/bayesopt"
)

// SamplerOptions configures a [Sampler]. The zero value is usable.
type SamplerOptions struct {
	// Seed makes the study reproducible.
	Seed int64

	// Startup is the number of trials spread evenly over the space before the
	// model decides; 0 means twice the number of parameters, from 4 to 12.
	Startup int

	// Exact says that the objective is computed, not measured: evaluating a
	// point again would give the same value to a fraction of a per cent.
	Exact bool

	// Log says that values are positive and vary over orders of magnitude, as
	// times and costs do: their logarithms are modelled.
	Log bool

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

// Sizes of the search for the best acquisition value.
const (
	samplerExhaustive = 4096
	samplerSpread     = 512 // points all over the space
	samplerLocal      = 32  // points around each of the best, per round
	samplerRounds     = 3
	samplerElite      = 4
)

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
	sp, err := newSpace(dists)
	if err != nil {
		return nil, goptuna.ErrUnsupportedSearchSpace
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	u := sp.quasiRandom(s.opts.Seed, trial.Number)
	if past, err := s.look(study, trial.ID, sp); err == nil {
		u = s.propose(sp, past, trial.Number)
	}
	values := sp.values(u)
	s.pending[trial.ID] = values
	return values, nil
}

// propose picks the next point: spread evenly at first, by the model later,
// and never one already past if the space is finite and another is left.
func (s *Sampler) propose(sp space, past *trials, number int) []float64 {
	u := sp.quasiRandom(s.opts.Seed, number)
	rng := bayesopt.NewRand(s.opts.Seed, number)
	pool := s.pool(sp, past, rng)
	if len(pool) == 0 {
		return u
	}
	if len(past.x) < s.startup(sp) {
		return past.nearestFresh(sp, u, pool)
	}
	post, err := past.fit(s.opts.Seed, s.opts.Exact)
	if err != nil {
		return past.nearestFresh(sp, u, pool)
	}
	return refine(sp, post, past, pool, rng)
}

func (s *Sampler) startup(sp space) int {
	if s.opts.Startup > 0 {
		return s.opts.Startup
	}
	return min(max(2*len(sp), 4), 12)
}

// pool returns the points to choose from: all fresh ones of a small finite
// space, else points spread over the space.
func (s *Sampler) pool(sp space, past *trials, rng *rand.Rand) [][]float64 {
	var pool [][]float64
	if n := sp.size(samplerExhaustive); n > 0 {
		for k := range n {
			if u := sp.enumerate(k); !past.known(sp, u) {
				pool = append(pool, u)
			}
		}
		// The order decides ties.
		rng.Shuffle(len(pool), func(i, j int) { pool[i], pool[j] = pool[j], pool[i] })
		return pool
	}
	for range samplerSpread {
		u := make([]float64, len(sp))
		for j := range u {
			u[j] = rng.Float64()
		}
		pool = append(pool, u)
	}
	return pool
}

// refine returns the point of largest acquisition value in the pool, improved
// by shrinking random steps around the best few and around the best trial
// where the space is not small enough to be searched exhaustively.
func refine(sp space, post *bayesopt.Posterior, past *trials, pool [][]float64, rng *rand.Rand) []float64 {
	elite := topK{k: samplerElite}
	consider := func(u []float64) {
		x, ok := sp.point(sp.values(u))
		if ok && !past.known(sp, u) {
			elite.add(u, post.Predict(x).Average(bayesopt.LogEI, past.best))
		}
	}
	for _, u := range pool {
		consider(u)
	}
	if sp.size(samplerExhaustive) > 0 {
		return elite.first(pool[0])
	}
	size := 0.1
	for range samplerRounds {
		centres := append([][]float64{}, elite.points...)
		if past.bestAt != nil {
			centres = append(centres, past.bestAt)
		}
		for _, c := range centres {
			for range samplerLocal {
				consider(around(c, size, rng))
			}
		}
		size *= 0.3
	}
	return elite.first(pool[0])
}

// look collects the trials of the study. The maps of trials that are still
// running belong to the goroutines that run them; their points are taken from
// this sampler's own record of what it proposed.
func (s *Sampler) look(study *goptuna.Study, self int, sp space) (*trials, error) {
	all, err := study.GetTrials()
	if err != nil && !errors.Is(err, goptuna.ErrTrialsPartiallyDeleted) {
		return nil, err
	}
	past := newTrials(study.Direction() == goptuna.StudyDirectionMaximize)
	for i := range all {
		t := &all[i]
		if t.State == goptuna.TrialStateWaiting || t.ID == self {
			continue
		}
		if t.State == goptuna.TrialStateRunning {
			if s.reap(study, t) {
				continue
			}
			if x, ok := sp.point(s.pending[t.ID]); ok {
				past.running(x)
			}
			continue
		}
		delete(s.pending, t.ID)
		if x, ok := sp.point(t.InternalParams); ok {
			past.finished(sp, x, t)
		}
	}
	past.transform(s.opts.Log)
	return past, nil
}

// reap marks a trial that has been running for too long as failed.
func (s *Sampler) reap(study *goptuna.Study, t *goptuna.FrozenTrial) bool {
	if s.opts.StaleAfter <= 0 || t.DatetimeStart.IsZero() || time.Since(t.DatetimeStart) < s.opts.StaleAfter {
		return false
	}
	delete(s.pending, t.ID)
	// A trial that finished meanwhile cannot be updated: just as good.
	_ = study.Storage.SetTrialState(t.ID, goptuna.TrialStateFail)
	return true
}

// topK keeps the k points of largest score.
type topK struct {
	k      int
	points [][]float64
	scores []float64
}

func (t *topK) add(u []float64, score float64) {
	if math.IsNaN(score) {
		return
	}
	at := len(t.points)
	for at > 0 && t.scores[at-1] < score {
		at--
	}
	if at >= t.k {
		return
	}
	t.points = append(t.points[:at], append([][]float64{u}, t.points[at:]...)...)
	t.scores = append(t.scores[:at], append([]float64{score}, t.scores[at:]...)...)
	if len(t.points) > t.k {
		t.points, t.scores = t.points[:t.k], t.scores[:t.k]
	}
}

// first returns the best point, or other if there is none.
func (t *topK) first(other []float64) []float64 {
	if len(t.points) == 0 {
		return other
	}
	return t.points[0]
}
