package sampler

import (
	"fmt"
	"maps"
	"math"
	"math/rand/v2"
	"slices"

	"github.com/c-bata/goptuna"

	"knee/bayesopt"
)

// dimension is one goptuna parameter as coordinates of the unit cube. A
// numeric one takes one coordinate, a categorical one as many as it has
// choices.
type dimension struct {
	name   string
	width  int                       // coordinates
	levels int                       // number of distinct values, 0 for a continuum
	decode func(u float64) float64   // unit interval to internal value
	encode func(v float64) float64   // and back
	hot    func(v float64) []float64 // categorical only
}

// space is a goptuna search space in the order of its parameter names.
type space []dimension

// newSpace translates the distributions. An unknown one is an error, as
// goptuna may gain some.
func newSpace(dists map[string]interface{}) (space, error) {
	var s space
	for _, name := range slices.Sorted(maps.Keys(dists)) {
		d, err := newDimension(name, dists[name])
		if err != nil {
			return nil, err
		}
		s = append(s, d)
	}
	return s, nil
}

// newDimension translates one distribution.
func newDimension(name string, dist interface{}) (dimension, error) {
	switch d := dist.(type) {
	case goptuna.UniformDistribution:
		return continuum(name, d.Low, d.High), nil
	case goptuna.LogUniformDistribution:
		c := continuum(name, math.Log(d.Low), math.Log(d.High))
		// Rounding in the exponential must not leave the range.
		return dimension{name: name, width: 1, levels: c.levels,
			decode: func(u float64) float64 { return min(max(math.Exp(c.decode(u)), d.Low), d.High) },
			encode: func(v float64) float64 { return c.encode(math.Log(v)) }}, nil
	case goptuna.IntUniformDistribution:
		return grid(name, float64(d.Low), 1, d.High-d.Low+1), nil
	case goptuna.StepIntUniformDistribution:
		step := max(d.Step, 1)
		return grid(name, float64(d.Low), float64(step), (d.High-d.Low)/step+1), nil
	case goptuna.DiscreteUniformDistribution:
		if !(d.Q > 0) {
			return dimension{}, fmt.Errorf("parameter %s: discretization step %v, want > 0", name, d.Q)
		}
		return grid(name, d.Low, d.Q, int(math.Floor((d.High-d.Low)/d.Q+1e-9))+1), nil
	case goptuna.CategoricalDistribution:
		n := len(d.Choices)
		c := grid(name, 0, 1, n)
		c.width = n
		c.hot = func(v float64) []float64 {
			x := make([]float64, n)
			// Two different choices are at distance one, like the ends of a
			// numeric range.
			x[min(max(int(v), 0), n-1)] = math.Sqrt(0.5)
			return x
		}
		return c, nil
	}
	return dimension{}, fmt.Errorf("parameter %s: distribution %T is unknown", name, dist)
}

func continuum(name string, lo, hi float64) dimension {
	d := dimension{name: name, width: 1,
		decode: func(u float64) float64 { return lo + u*(hi-lo) },
		encode: func(v float64) float64 { return (v - lo) / (hi - lo) }}
	if !(hi > lo) {
		d.levels = 1
		d.decode = func(float64) float64 { return lo }
		d.encode = func(float64) float64 { return 0 }
	}
	return d
}

// grid has n values lo, lo+step, …
func grid(name string, lo, step float64, n int) dimension {
	n = max(n, 1)
	top := float64(max(n-1, 1))
	return dimension{name: name, width: 1, levels: n,
		decode: func(u float64) float64 { return lo + step*min(math.Floor(u*float64(n)), float64(n-1)) },
		encode: func(v float64) float64 { return (v - lo) / step / top }}
}

// point encodes internal values; it reports false if one is missing or not a
// number.
func (s space) point(values map[string]float64) ([]float64, bool) {
	var x []float64
	for _, d := range s {
		v, ok := values[d.name]
		if !ok && d.levels == 1 {
			// An objective need not ask for what cannot vary.
			v, ok = d.decode(0), true
		}
		if !ok || math.IsNaN(v) || math.IsInf(v, 0) {
			return nil, false
		}
		if d.hot != nil {
			x = append(x, d.hot(v)...)
		} else {
			x = append(x, d.encode(v))
		}
	}
	return x, true
}

// unit returns one number in [0, 1] per parameter: what values decodes.
func (s space) unit(values map[string]float64) []float64 {
	u := make([]float64, len(s))
	for j, d := range s {
		u[j] = d.encode(values[d.name])
	}
	return u
}

// values decodes one number in [0, 1) per parameter.
func (s space) values(u []float64) map[string]float64 {
	v := make(map[string]float64, len(s))
	for j, d := range s {
		v[d.name] = d.decode(u[j])
	}
	return v
}

// size returns the number of points of a finite space, 0 for one with a
// continuum or with more than limit points.
func (s space) size(limit int) int {
	n := 1
	for _, d := range s {
		if d.levels == 0 || n > limit/d.levels {
			return 0
		}
		n *= d.levels
	}
	return n
}

// enumerate returns the k-th point of a finite space, 0 ≤ k < size.
func (s space) enumerate(k int) []float64 {
	u := make([]float64, len(s))
	for j, d := range s {
		u[j] = (float64(k%d.levels) + 0.5) / float64(d.levels)
		k /= d.levels
	}
	return u
}

// quasiRandom returns the n-th point of a low-discrepancy sequence.
func (s space) quasiRandom(seed int64, n int) []float64 { return bayesopt.QuasiRandom(len(s), seed, n) }

// around returns a copy of u with normal steps of the given size, reflected at
// the faces of the cube.
func around(u []float64, size float64, rng *rand.Rand) []float64 {
	v := make([]float64, len(u))
	for j := range u {
		x := math.Abs(math.Mod(u[j]+size*rng.NormFloat64(), 2))
		if x > 1 {
			x = 2 - x
		}
		v[j] = min(x, math.Nextafter(1, 0))
	}
	return v
}
