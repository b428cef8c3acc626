package sampler

import (
	"math"
	"slices"
	"strconv"

	"github.com/c-bata/goptuna"

	"knee/bayesopt"
)

// trials is what a [Sampler] knows of a study, the values turned so that
// smaller is better and put on a scale of about one.
type trials struct {
	sign   float64
	x      [][]float64 // finished trials,
	u      [][]float64 // the same, one number per parameter,
	y      []float64   // and their values, NaN for those without one
	flight [][]float64 // running trials
	keys   map[string]bool
	best   float64   // smallest transformed value
	bestAt []float64 // one number per parameter; nil until there is one
}

func newTrials(maximise bool) *trials {
	s := &trials{sign: 1, keys: map[string]bool{}, best: math.Inf(1)}
	if maximise {
		s.sign = -1
	}
	return s
}

func (s *trials) running(x []float64) {
	s.flight = append(s.flight, x)
	s.keys[pointKey(x)] = true
}

// finished adds a trial. Pruned trials count with their last intermediate
// value; failed ones, and values that are not finite, as trials without one.
func (s *trials) finished(sp space, x []float64, t *goptuna.FrozenTrial) {
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
		v = math.NaN()
	}
	s.x, s.y = append(s.x, x), append(s.y, s.sign*v)
	s.u = append(s.u, sp.unit(t.InternalParams))
	s.keys[pointKey(x)] = true
}

// transform puts the values on a scale: logarithms if that is wanted and all
// are positive, then zero mean and unit deviation. Trials without a value get
// the worst value and half a deviation more.
func (s *trials) transform(logarithms bool) {
	lowest := math.Inf(1)
	for _, v := range s.y {
		if !math.IsNaN(v) {
			lowest = min(lowest, s.sign*v)
		}
	}
	var known []float64
	for i, v := range s.y {
		if logarithms && lowest > 0 {
			s.y[i] = s.sign * math.Log(s.sign*v)
		}
		if !math.IsNaN(v) {
			known = append(known, s.y[i])
		}
	}
	if len(known) == 0 {
		return
	}
	level, deviation := 0.0, 0.0
	for _, v := range known {
		level += v / float64(len(known))
	}
	for _, v := range known {
		deviation += (v - level) * (v - level) / float64(len(known))
	}
	deviation = math.Sqrt(deviation)
	if !(deviation > 0) {
		deviation = 1
	}
	worst := (slices.Max(known)-level)/deviation + failurePenalty
	for i, v := range s.y { // v is NaN for trials without a value
		s.y[i] = (v - level) / deviation
		if math.IsNaN(v) {
			s.y[i] = worst
		} else if s.y[i] < s.best {
			s.best, s.bestAt = s.y[i], s.u[i]
		}
	}
}

// failurePenalty is how much worse than the worst trial, in standard
// deviations, one without a value is taken to be.
const failurePenalty = 0.5

// fit returns the model of the finished trials with the running ones believed.
func (s *trials) fit(seed int64, exact bool) (*bayesopt.Posterior, error) {
	if math.IsInf(s.best, 1) {
		return nil, goptuna.ErrNoCompletedTrials
	}
	post, err := bayesopt.AverageGP(s.x, s.y, bayesopt.Prior{Exact: exact}, samplerMembers, seed)
	for i := 0; err == nil && i < len(s.flight); i++ {
		post, err = post.Believe(s.flight[i])
	}
	return post, err
}

// samplerMembers bounds the mixture: in a continuous space it is evaluated at
// about a thousand points per trial.
const samplerMembers = 16

// known reports whether the point was tried or is running.
func (s *trials) known(sp space, u []float64) bool {
	x, ok := sp.point(sp.values(u))
	return ok && s.keys[pointKey(x)]
}

// nearestFresh returns u if it is fresh, else the point of the pool nearest to
// it.
func (s *trials) nearestFresh(sp space, u []float64, pool [][]float64) []float64 {
	if !s.known(sp, u) {
		return u
	}
	return slices.MinFunc(pool, func(a, b []float64) int {
		switch da, db := gap(a, u), gap(b, u); {
		case da < db:
			return -1
		case da > db:
			return 1
		}
		return 0
	})
}

func pointKey(x []float64) string {
	var key []byte
	for _, v := range x {
		key = strconv.AppendInt(key, int64(math.Round(v*1e9)), 36)
		key = append(key, ',')
	}
	return string(key)
}

// gap is the squared distance of two points.
func gap(a, b []float64) float64 {
	var s float64
	for j := range a {
		s += (a[j] - b[j]) * (a[j] - b[j])
	}
	return s
}
