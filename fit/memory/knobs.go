package memory

import (
	"maps"
	"math"
	"slices"
	"strconv"

	"gonum.org/v1/gonum/stat/distuv"

	"knee/data"
)

// knob is one of the study's own knobs. It multiplies all that grows with the batch, and by
// another factor the parameters, gradients and optimizer state.
type knob struct {
	Name      string   `json:"name"`
	Reference float64  `json:"reference,omitempty"` // of numbers > 0: the middle of those measured, in logarithms
	Values    []string `json:"values,omitempty"`    // of others: those measured, the first one the reference
}

// knobsOf finds the knobs of configurations that were measured.
func knobsOf(cs []data.Config) (ks []knob) {
	names := map[string]bool{}
	for _, c := range cs {
		for name := range c.Extra {
			names[name] = true
		}
	}
	for _, name := range slices.Sorted(maps.Keys(names)) {
		k, lo, hi := knob{Name: name}, math.Inf(1), 0.
		for _, c := range cs {
			v := c.Extra[name]
			if !slices.Contains(k.Values, v) {
				k.Values = append(k.Values, v)
			}
			lo, hi = min(lo, number(v)), max(hi, number(v))
		}
		if lo > 0 && !math.IsInf(hi, 1) { // not if one is NaN
			k.Reference, k.Values = math.Sqrt(lo)*math.Sqrt(hi), nil
		}
		ks = append(ks, k)
	}
	return ks
}

// number is the value of a text, NaN if it is none.
func number(text string) float64 {
	if v, err := strconv.ParseFloat(text, 64); err == nil {
		return v
	}
	return math.NaN()
}

// sizeOf is the number of standard normal coordinates of either factor: two for a number,
// one for each other value but the reference, and one for all not measured.
func sizeOf(ks []knob) (n int) {
	for _, k := range ks {
		if n += len(k.Values); k.Reference > 0 {
			n += 2
		}
	}
	return n
}

// The factor of a number r over its reference is r^s·cosh(ln r)^c. What is kept
// grows with its square at most, as attention scores with a length, or shrinks so, and
// parameters grow so with a width: that is two standard deviations of s. A constant and
// a square, equal at the reference, give s = c = 1; as no two terms differ more, that
// is two of c. Another value has a factor, usually within two, as 16 and 32 bit have.
const curvatureSD, levelSD = .5, math.Ln2

// effect maps a standard normal variate to none, with probability one third, as many
// knobs leave memory as it is, or to an effect with a standard deviation of one.
func effect(x float64) float64 {
	return math.Copysign(max(math.Abs(x)-third, 0)/beyondThird, x)
}

// beyondThird is the root mean square of how far beyond the middle third variates are.
var beyondThird = math.Sqrt(1 + third*third - 3*third*distuv.UnitNormal.Prob(third))

// weightsOf returns the weights of the coordinates' effects in ln of a factor. A
// knob that is not given is at its reference. A text, or a number not above zero,
// counts as 1/e of the numbers measured.
func weightsOf(ks []knob, extra map[string]string) (w []float64) {
	for _, k := range ks {
		v, given := extra[k.Name]
		if k.Reference > 0 {
			u := 0.
			if x := number(v); given {
				if u = -1; x > 0 {
					u = math.Log(x / k.Reference)
				}
			}
			g := growthOf(u, [2]float64{})
			w = append(w, g[0], curvatureSD*g[1])
			continue
		}
		level := make([]float64, len(k.Values))
		switch at := slices.Index(k.Values, v); {
		case at > 0:
			level[at-1] = levelSD
		case at < 0 && given:
			level[len(level)-1] = levelSD
		}
		w = append(w, level...)
	}
	return w
}
