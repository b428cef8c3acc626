package replay

import (
	"math"
	"math/rand/v2"

	"knee/data"
)

// needle is a cloud job in which one family is much faster than similar ones at
// a few cluster sizes.
func needle(rng *rand.Rand) ([]data.Config, func(data.Config) float64, physics) {
	cands, price, job := cloud(rng)
	at, gain := cands[rng.IntN(len(cands))], between(rng, 1.2, 3)
	return cands, price, func(c data.Config) (float64, data.Status) {
		seconds, status := job(c)
		if c.Extra["ram_gib"] == at.Extra["ram_gib"] && c.Extra["vcpus"] == at.Extra["vcpus"] && math.Abs(math.Log2(float64(c.Workers)/float64(at.Workers))) < 0.6 {
			seconds, status = seconds/gain, data.OK
		}
		return seconds, status
	}
}

// plateau takes as long as its slowest part: cores, disks, or a source of fixed
// speed.
func plateau(rng *rand.Rand) ([]data.Config, func(data.Config) float64, physics) {
	cands, price := machines()
	source, work, disk := between(rng, 50, 500), between(rng, 5e3, 1e5), between(rng, 500, 5000)
	return cands, price, func(c data.Config) (float64, data.Status) {
		n := float64(c.Workers)
		return max(source, work/(n*knobOf(c, "vcpus")), disk/n), data.OK
	}
}

// waves has several minima along two of three numbers.
func waves(rng *rand.Rand) ([]data.Config, func(data.Config) float64, physics) {
	levels := []string{"1", "2", "4", "8", "16", "32", "64"}
	cands := space(map[string][]string{"workers": {"4"}, "buffer": levels, "threads": levels, "depth": {"1", "2", "4", "8"}}, "workers", "buffer", "threads", "depth")
	a, b, d := between(rng, 0.5, 1.5), between(rng, 0.5, 1.5), between(rng, 0.05, 0.5)
	p, q, height := 6*rng.Float64(), 6*rng.Float64(), between(rng, 0.2, 1)
	return cands, func(data.Config) float64 { return 1 }, func(c data.Config) (float64, data.Status) {
		x, y, z := math.Log2(knobOf(c, "buffer")), math.Log2(knobOf(c, "threads")), math.Log2(knobOf(c, "depth"))
		return 100 * math.Exp(height*(math.Sin(a*x+p)+math.Sin(b*y+q)+0.5*math.Sin(a*x-b*y))-d*z), data.OK
	}
}

// categories has three unordered knobs: two interact, and some values of one
// crash.
func categories(rng *rand.Rand) ([]data.Config, func(data.Config) float64, physics) {
	words := []string{"red", "green", "blue", "white", "black"}
	cands := space(map[string][]string{"workers": {"1", "2", "4", "8"}, "codec": words, "planner": words, "shuffle": words[:3]}, "workers", "codec", "planner", "shuffle")
	effect, crash := map[string]float64{}, words[rng.IntN(len(words))]+words[rng.IntN(len(words))]
	for _, v := range words {
		for _, w := range append(words, "") {
			effect["codec"+v+w], effect["planner"+v+w] = 0.4*rng.NormFloat64(), 0.2*rng.NormFloat64()
		}
	}
	parallel := between(rng, 0.3, 1)
	return cands, func(c data.Config) float64 { return float64(c.Workers) }, func(c data.Config) (float64, data.Status) {
		codec, planner := c.Extra["codec"], c.Extra["planner"]
		seconds := 500 * math.Pow(float64(c.Workers), -parallel) * math.Exp(effect["codec"+codec]+effect["planner"+planner]+effect["planner"+codec+planner])
		if codec+planner == crash || codec+c.Extra["shuffle"] == crash {
			return 0.1 * seconds, data.Failed
		}
		return seconds, data.OK
	}
}

// serving answers requests in batches: weights are read once per batch, until
// computation takes longer. Weights or caches may not fit in memory, and a
// server whose answers take too long ends with an error.
func serving(rng *rand.Rand) ([]data.Config, func(data.Config) float64, physics) {
	cands := space(map[string][]string{"gpu_type": {"t4", "l4", "a100", "h100"}, "workers": {"1", "2", "4"}, "precision": {"fp16", "int8", "int4"},
		"batch": {"1", "2", "4", "8", "16", "32", "64", "128"}, "streams": {"1", "4"}}, "gpu_type", "workers", "precision", "batch", "streams")
	price := map[string]float64{"t4": 0.5, "l4": 0.8, "a100": 3.5, "h100": 7}
	bytes := map[string]float64{"fp16": 2, "int8": 1, "int4": 0.5}
	faster := map[string]float64{"fp16": 1, "int8": 1.6, "int4": 1.3}
	size, cache, tokens := between(rng, 2e9, 2e10), between(rng, 1e7, 5e8), between(rng, 50, 500)
	link, longest := between(rng, 1e-4, 1e-2), between(rng, 0.02, 0.3)
	return cands, func(c data.Config) float64 { return float64(c.Workers) * price[c.GPUType] }, func(c data.Config) (float64, data.Status) {
		g, _ := data.FindGPU(c.GPUType)
		n, b, streams, precision := float64(c.Workers), knobOf(c, "batch"), knobOf(c, "streams"), c.Extra["precision"]
		read, compute := size*bytes[precision]/(n*g.Bandwidth*1e9), 2*size*b/(n*g.TFLOPS*4e11*faster[precision])
		token := max(read, compute) + 0.3*min(read, compute) + link*(n-1)
		seconds := 1e4 * tokens * token / (b * math.Pow(streams, 0.3))
		switch {
		case size*bytes[precision]/n+cache*b*streams/n > g.Memory*1e9:
			return 0.05 * seconds, data.OOM
		case token*streams > longest:
			return 0.3 * seconds, data.Failed
		}
		return seconds, data.OK
	}
}
