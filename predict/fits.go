package predict

import (
	"fmt"
	"maps"
	"math"
	"slices"

	"knee/data"
	"knee/fit/memory"
)

// LeastFits is the least probability to fit of a configuration chosen or recommended.
const LeastFits = .9

// memoryOf predicts the memory of a resolved configuration, nil if unknown. What needs no
// more than something that ran fits; what needs no less than something that ran out of
// memory does not. One worker and many differ in buffers of communication alone.
func (p *Predictor) memoryOf(c data.Config) *memory.Prediction {
	m := p.Model.Memory()
	if m == nil || c.LocalBatch <= 0 {
		return nil
	}
	needs := m.Predict(c)
	for _, f := range m.Failed {
		if same := f.GPUType == c.GPUType && f.ModeOrDefault() == c.ModeOrDefault(); same && coveredBy(f, saving(c, f)) {
			needs.Fits, needs.RanOut = 0, true
			break
		}
	}
	if needs.Fits < LeastFits {
		for _, ran := range p.Model.Measurements(c.GPUType, c.ModeOrDefault()) {
			if coveredBy(c, ran.Config) {
				needs.Fits, needs.RanOut = 1, false
				break
			}
			if same := ran.Config; (same.Workers == 1) != (c.Workers == 1) {
				same.Workers = c.Workers
				if coveredBy(c, same) {
					needs.Fits = max(needs.Fits, m.FitsGiven(c, ran.Config))
				}
			}
		}
	}
	return &needs
}

// fits reports whether a configuration may be chosen.
func (p *Predictor) fits(c data.Config) bool {
	needs := p.memoryOf(c)
	return needs == nil || needs.Fits >= LeastFits
}

// coveredBy reports whether a worker of c holds no more than one of ran: the same
// parts of the model, samples and buffers of communication, or fewer. Sharded state
// shrinks with the workers, of a node if hybrid. Half the samples make room for the gradients that
// accumulation keeps between micro-steps, if those are not sharded otherwise.
func coveredBy(c, ran data.Config) bool {
	for _, l := range []*data.Layout{&c.Layout, &ran.Layout} {
		l.TP, l.PP, l.CP, l.EP = max(l.TP, 1), max(l.PP, 1), max(l.CP, 1), max(l.EP, 1)
	}
	samples := ran.LocalBatch
	if c.AccumSteps > 0 && ran.AccumSteps == 0 {
		if samples /= 2; c.Sharding != "" {
			return false
		}
	}
	sized := ran.Architecture.Zero() || c.Architecture == ran.Architecture.Or(c.Architecture)
	return sized && c.Layout == ran.Layout && maps.Equal(c.Extra, ran.Extra) && c.LocalBatch <= samples &&
		inFlight(c) <= inFlight(ran) && (c.Workers == 1) == (ran.Workers == 1) &&
		(c.Sharding == "" || c.Workers >= ran.Workers) && (c.Sharding != "hybrid" || c.WidestNode() >= ran.WidestNode())
}

// saving returns c with the sharding and recomputation of another, where that saves memory.
func saving(c, other data.Config) data.Config {
	for _, w := range []struct {
		mine   *string
		theirs string
		order  []string // from most memory to least
	}{{&c.Sharding, other.Sharding, []string{"", "zero1", "zero2", "zero3"}}, {&c.Recompute, other.Recompute, []string{"", "selective", "full"}}} {
		if slices.Index(w.order, *w.mine) >= 0 && slices.Index(w.order, w.theirs) > slices.Index(w.order, *w.mine) {
			*w.mine = w.theirs
		}
	}
	return c
}

// inFlight is the micro-batches whose activations the first stage keeps.
func inFlight(c data.Config) int { return min(c.AccumSteps+1, c.PP) }

// Fits returns the probability that the configuration fits; nil if unknown.
func (a Answer) Fits() *float64 {
	if a.Memory == nil || math.IsInf(a.Memory.Capacity, 1) && !a.Memory.RanOut {
		return nil
	}
	return &a.Memory.Fits
}

// Unfit says why it fits with a probability below [LeastFits]; empty for others.
func (a Answer) Unfit() string {
	fits := a.Fits()
	if fits == nil || *fits >= LeastFits {
		return ""
	}
	m := a.Memory
	const ranOut = "it, or what needs no more, ran out of memory when measured"
	if math.IsInf(m.Capacity, 1) {
		return ranOut
	}
	also := ""
	if m.RanOut {
		also = "; " + ranOut
	}
	return fmt.Sprintf("needs %.0f GiB (%.0f to %.0f) where %s has %.0f, and fits with probability %.2f%s",
		m.Peak.Mean/(1<<30), m.Peak.Lo/(1<<30), m.Peak.Hi/(1<<30), a.Config.GPUType, m.Capacity/(1<<30), m.Fits, also)
}

// Accumulated returns c with its batch in the fewest micro-steps that fit, where gradients
// were accumulated no larger than measured: of equal whole samples, or powers of two if it
// is not whole; c if no division does.
func (p *Predictor) Accumulated(c data.Config) data.Config {
	resolved, err := p.resolve(c)
	if err != nil {
		return c // whoever predicts it gets the error
	}
	whole, most := resolved.LocalBatch == math.Trunc(resolved.LocalBatch), math.Inf(1)
	if sizes, accumulated := p.Model.LocalBatches(resolved.GPUType, resolved.Mode); accumulated {
		most = sizes[len(sizes)-1]
	}
	for n := 1; float64(n) <= max(1, resolved.LocalBatch); n++ {
		if whole && math.Mod(resolved.LocalBatch, float64(n)) != 0 || !whole && n&(n-1) != 0 {
			continue
		}
		parts := resolved
		parts.LocalBatch, parts.AccumSteps = resolved.LocalBatch/float64(n), n*(resolved.AccumSteps+1)-1
		if parts.LocalBatch <= most && p.fits(parts) {
			c.LocalBatch, c.AccumSteps = parts.LocalBatch, parts.AccumSteps
			return c
		}
	}
	return c
}
