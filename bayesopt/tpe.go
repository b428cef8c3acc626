package bayesopt

import (
	"cmp"
	"math"
	"math/rand/v2"
	"slices"
	"sync"

	"github.com/c-bata/goptuna"
	"github.com/c-bata/goptuna/tpe"
)

// TPE parameters, those of goptuna's own sampler.
const (
	tpeStartup    = 10 // trials before the estimators are used
	tpeCandidates = 24 // draws per parameter
)

// TPESampler is a goptuna.Sampler: the tree-structured Parzen estimator
// (Bergstra et al. 2011, section 4) for ordinals, on top of goptuna's density
// estimators. Unlike goptuna's tpe.Sampler (v0.9.0) it draws from its own
// source, so the same seed gives the same study; that one picks the mixture
// component from the process-wide source, which cannot be seeded. Parameters
// that are not discrete uniform are left to goptuna's random sampler. Make
// one with [NewTPESampler].
type TPESampler struct {
	mu       sync.Mutex
	rng      *rand.Rand
	fallback *goptuna.RandomSampler
}

var _ goptuna.Sampler = (*TPESampler)(nil)

// NewTPESampler returns a sampler with its own random source.
func NewTPESampler(seed int64) *TPESampler {
	return &TPESampler{rng: newRand(seed, 0), fallback: goptuna.NewRandomSampler(goptuna.RandomSamplerOptionSeed(seed))}
}

// Sample implements goptuna.Sampler.
func (s *TPESampler) Sample(study *goptuna.Study, trial goptuna.FrozenTrial, name string, dist interface{}) (float64, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	d, ok := dist.(goptuna.DiscreteUniformDistribution)
	if !ok || d.Single() {
		return s.fallback.Sample(study, trial, name, dist)
	}
	below, above, err := splitTrials(study, name)
	if err != nil {
		return 0, err
	}
	if len(below)+len(above) < tpeStartup {
		return s.fallback.Sample(study, trial, name, dist)
	}
	lo, hi := d.Low-0.5*d.Q, d.High+0.5*d.Q
	good, bad := parzen(below, lo, hi), parzen(above, lo, hi)
	best, top := d.Low, math.Inf(-1)
	for range tpeCandidates {
		v := d.Low + math.Round((s.draw(good, lo, hi)-d.Low)/d.Q)*d.Q
		v = min(max(v, d.Low), d.High)
		if score := binDensity(good, v, d.Q, lo, hi) - binDensity(bad, v, d.Q, lo, hi); score > top {
			best, top = v, score
		}
	}
	return best, nil
}

// splitTrials returns the values of one parameter in the best tenth of the
// finished trials (at most 25), and in the others.
func splitTrials(study *goptuna.Study, name string) (below, above []float64, err error) {
	trials, err := study.GetTrials()
	if err != nil {
		return nil, nil, err
	}
	sign := 1.0
	if study.Direction() == goptuna.StudyDirectionMaximize {
		sign = -1
	}
	type pair struct{ value, loss float64 }
	var pairs []pair
	for _, t := range trials {
		if t.State != goptuna.TrialStateComplete {
			continue
		}
		if v, ok := t.InternalParams[name]; ok {
			pairs = append(pairs, pair{v, sign * t.Value})
		}
	}
	slices.SortStableFunc(pairs, func(a, b pair) int { return cmp.Compare(a.loss, b.loss) })
	n := tpe.DefaultGamma(len(pairs))
	for i, p := range pairs {
		if i < n {
			below = append(below, p.value)
		} else {
			above = append(above, p.value)
		}
	}
	return below, above, nil
}

// parzen builds goptuna's estimator. The values go in sorted: v0.9.0 sorts
// them in place and then permutes them a second time.
func parzen(values []float64, lo, hi float64) *tpe.ParzenEstimator {
	equal := func(n int) []float64 {
		w := make([]float64, n)
		for i := range w {
			w[i] = 1
		}
		return w
	}
	return tpe.NewParzenEstimator(slices.Sorted(slices.Values(values)), lo, hi,
		tpe.ParzenEstimatorParams{ConsiderPrior: true, ConsiderMagicClip: true, Weights: equal, PriorWeight: 1})
}

// draw returns a value from the mixture, truncated to [lo, hi).
func (s *TPESampler) draw(e *tpe.ParzenEstimator, lo, hi float64) float64 {
	for range 1000 {
		u, k := s.rng.Float64(), 0
		for ; k < len(e.Weights)-1 && u >= e.Weights[k]; k++ {
			u -= e.Weights[k]
		}
		if v := e.Mus[k] + e.Sigmas[k]*s.rng.NormFloat64(); v >= lo && v < hi {
			return v
		}
	}
	return lo + s.rng.Float64()*(hi-lo)
}

// binDensity returns the logarithm of the mixture's probability of the bin of
// width q around v, truncated to [lo, hi).
func binDensity(e *tpe.ParzenEstimator, v, q, lo, hi float64) float64 {
	var inside, total float64
	for k, w := range e.Weights {
		cdf := func(x float64) float64 { return normalCDF((x - e.Mus[k]) / e.Sigmas[k]) }
		inside += w * (cdf(min(v+0.5*q, hi)) - cdf(max(v-0.5*q, lo)))
		total += w * (cdf(hi) - cdf(lo))
	}
	return math.Log(inside+1e-300) - math.Log(total+1e-300)
}
