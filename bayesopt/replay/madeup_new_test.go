package replay

import (
	"math"
	"math/rand/v2"

	"knee/data"
)

// cliff is several times as fast once a task's data fit in a buffer, whose size
// is a product of two knobs, and slower with each knob.
func cliff(rng *rand.Rand) ([]data.Config, func(data.Config) float64, physics) {
	levels := []string{"1", "2", "4", "8", "16", "32"}
	cands := space(map[string][]string{"workers": {"1", "2", "4", "8"}, "buffer": levels, "parts": levels}, "workers", "buffer", "parts")
	need, gain, work := between(rng, 8, 256), between(rng, 1.5, 6), between(rng, 100, 1000)
	dear, split := between(rng, 0.02, 0.15), between(rng, 0.02, 0.15)
	return cands, func(c data.Config) float64 { return float64(c.Workers) }, func(c data.Config) (float64, data.Status) {
		b, p, n := knobOf(c, "buffer"), knobOf(c, "parts"), float64(c.Workers)
		seconds := (work/n + 0.1*work) * (1 + dear*math.Log2(b)*math.Log2(b)/4 + split*math.Log2(p))
		if b*p < need {
			seconds *= gain
		}
		return seconds, data.OK
	}
}

// spikes is a smooth job with one configuration in six faster or slower by a
// tenth to a half.
func spikes(rng *rand.Rand) ([]data.Config, func(data.Config) float64, physics) {
	cands, price := machines()
	work, serial, shuffle := between(rng, 5e3, 1e5), between(rng, 20, 300), between(rng, 0.2, 10)
	own := map[string]float64{}
	for _, c := range cands {
		if rng.IntN(6) == 0 {
			own[c.Key()] = math.Copysign(between(rng, 0.1, 0.5), rng.Float64()-0.5)
		}
	}
	return cands, price, func(c data.Config) (float64, data.Status) {
		n := float64(c.Workers)
		return (serial + work/(n*knobOf(c, "vcpus")) + shuffle*n) * math.Exp(own[c.Key()]), data.OK
	}
}

// reversal has a knob that helps under one algorithm and harms under another;
// the first is better only with much of it.
func reversal(rng *rand.Rand) ([]data.Config, func(data.Config) float64, physics) {
	levels := []string{"1", "2", "4", "8", "16", "32", "64"}
	cands := space(map[string][]string{"workers": {"1", "2", "4", "8"}, "chunk": levels, "algorithm": {"ring", "tree", "direct"}}, "workers", "chunk", "algorithm")
	slope, level := map[string]float64{}, map[string]float64{}
	for _, a := range []string{"ring", "tree", "direct"} {
		slope[a], level[a] = 0.2*rng.NormFloat64(), 0.4*rng.NormFloat64()
	}
	parallel := between(rng, 0.4, 1)
	return cands, func(c data.Config) float64 { return float64(c.Workers) }, func(c data.Config) (float64, data.Status) {
		a, x := c.Extra["algorithm"], math.Log2(knobOf(c, "chunk"))
		return 300 * math.Pow(float64(c.Workers), -parallel) * math.Exp(level[a]+slope[a]*(x-3)+0.03*(x-3)*(x-3)), data.OK
	}
}
