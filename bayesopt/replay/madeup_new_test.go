package replay

import (
	"fmt"
	"math"
	"math/rand/v2"

	"knee/data"
	"knee/profile"
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

// steps is a study of step times for the highest throughput: data-parallel
// training with a knee where a node is full or the input is too slow, and two
// knobs of its own.
func steps(seed int64) (*Table, error) {
	rng := rand.New(rand.NewPCG(uint64(seed), 0x7374657073))
	cands := space(map[string][]string{"workers": {"1", "2", "4", "8", "16", "32"}, "local_batch": {"8", "16", "32", "64", "128"},
		"precision": {"fp32", "tf32", "bf16"}, "bucket": {"1", "8", "64"}}, "workers", "local_batch", "precision", "bucket")
	perSample, fixed, faster := between(rng, 2e-4, 5e-3), between(rng, 1e-3, 0.05), between(rng, 1.05, 3)
	node, inside, slower := float64(int(2)<<rng.IntN(4)), between(rng, 2e-3, 0.1), between(rng, 1, 20)
	hidden, source, step := 0.9*rng.Float64(), between(rng, 1e3, 1e5), between(rng, 1e-5, 3e-3)
	var ms []data.Measurement
	for _, c := range cands {
		n, work := float64(c.Workers), fixed+perSample*c.LocalBatch
		switch c.Extra["precision"] {
		case "tf32":
			work /= math.Sqrt(faster)
		case "bf16":
			work /= faster
		}
		sync := 2 * (n - 1) / n * inside
		if n > node {
			sync *= slower
		}
		sync += (n - 1) * step * 8 / knobOf(c, "bucket")
		seconds := max(work+max(0, sync-hidden*work), n*c.LocalBatch/source) * math.Exp(0.02*rng.NormFloat64())
		ms = append(ms, data.Measurement{Config: c, Status: data.OK, StepTime: seconds})
	}
	t, err := NewStepTable(fmt.Sprintf("steps-%d", seed), ms, Steps{Window: 60, Forms: profile.SpeedForms(),
		Price: func(c data.Config) float64 { return float64(c.Workers) }, Efficiency: func(float64) float64 { return 1 }})
	if err == nil {
		t.Kind = "steps"
	}
	return t, err
}
