package sampler

import (
	"maps"
	"math"
	"math/rand/v2"
	"slices"
	"strconv"

	"github.com/c-bata/goptuna"
)

// axis is a goptuna parameter on the unit interval: low + u·(high − low), or
// its exponential; with levels, the interval has that many equal parts.
type axis struct {
	name      string
	low, high float64
	log       bool
	levels    int  // distinct values, 0 for continuous
	category  bool // unordered
}

// newAxes converts the distributions, by name; an unknown one is an error.
func newAxes(dists map[string]interface{}) ([]axis, error) {
	var axes []axis
	for _, name := range slices.Sorted(maps.Keys(dists)) {
		a := axis{name: name}
		step := 0.0
		switch d := dists[name].(type) {
		case goptuna.UniformDistribution:
			a.low, a.high = d.Low, d.High
		case goptuna.LogUniformDistribution:
			a.low, a.high, a.log = math.Log(d.Low), math.Log(d.High), true
		case goptuna.IntUniformDistribution:
			a.low, a.high, step = float64(d.Low), float64(d.High), 1
		case goptuna.StepIntUniformDistribution:
			a.low, a.high, step = float64(d.Low), float64(d.High), float64(max(d.Step, 1))
		case goptuna.DiscreteUniformDistribution:
			a.low, a.high, step = d.Low, d.High, d.Q
		case goptuna.CategoricalDistribution:
			a.high, step, a.category = float64(len(d.Choices)-1), 1, true
		default:
			return nil, goptuna.ErrUnsupportedSearchSpace
		}
		if step > 0 {
			a.levels = int(math.Floor((a.high-a.low)/step+1e-9)) + 1
			a.high = a.low + step*float64(a.levels-1)
		} else if !(a.high > a.low) {
			a.levels = 1
		}
		axes = append(axes, a)
	}
	return axes, nil
}

// value returns the internal value at u in [0, 1].
func (a axis) value(u float64) float64 {
	if a.levels > 0 {
		u = min(math.Floor(u*float64(a.levels)), float64(a.levels-1)) / max(float64(a.levels-1), 1)
	}
	v := a.low + u*(a.high-a.low)
	if a.log {
		return math.Exp(v)
	}
	return v
}

// unit is the inverse of value.
func (a axis) unit(v float64) float64 {
	if a.log {
		v = math.Log(v)
	}
	if a.levels == 1 {
		return 0
	}
	return (v - a.low) / (a.high - a.low)
}

// values returns the internal values at a point of the unit cube.
func values(axes []axis, u []float64) map[string]float64 {
	v := make(map[string]float64, len(axes))
	for j, a := range axes {
		v[a.name] = a.value(u[j])
	}
	return v
}

// features returns the model's input for internal values, a category as a corner of a
// simplex of side 1, and a key. ok is false if a value is missing or not finite.
func features(axes []axis, values map[string]float64) (x []float64, key string, ok bool) {
	for _, a := range axes {
		v, ok := values[a.name]
		if a.levels == 1 { // an objective need not request a constant
			v, ok = a.value(0), true
		}
		if u := a.unit(v); !ok || math.IsNaN(u) || math.IsInf(u, 0) {
			return nil, "", false
		} else if !a.category {
			x = append(x, u)
		}
		for level := range a.levels {
			if a.category && int(v) == level {
				x = append(x, math.Sqrt(.5))
			} else if a.category {
				x = append(x, 0)
			}
		}
		key += strconv.FormatFloat(v, 'g', 9, 64) + ","
	}
	return x, key, true
}

// Candidate points: all of a space of at most exhaustive; else spread random
// ones, and nearby ones at each of several distances from the best.
const exhaustive, spread, nearby = 4096, 1024, 128

// pool returns the candidate points.
func pool(axes []axis, best []float64, rng *rand.Rand) [][]float64 {
	size := 1
	for _, a := range axes {
		if size *= a.levels; size > exhaustive {
			size = 0
		}
	}
	var out [][]float64
	for k := range size {
		u := make([]float64, len(axes))
		for j, a := range axes {
			u[j] = (float64(k%a.levels) + .5) / float64(a.levels)
			k /= a.levels
		}
		out = append(out, u)
	}
	if size > 0 {
		rng.Shuffle(size, func(i, j int) { out[i], out[j] = out[j], out[i] }) // random order breaks ties
		return out
	}
	draw := func(n int, at func(j int) float64) {
		for range n {
			u := make([]float64, len(axes))
			for j := range u {
				u[j] = min(max(at(j), 0), 1)
			}
			out = append(out, u)
		}
	}
	draw(spread, func(int) float64 { return rng.Float64() })
	for distance := .2; best != nil && distance > 1e-3; distance /= 3 {
		draw(nearby, func(j int) float64 { return best[j] + distance*rng.NormFloat64() })
	}
	return out
}
