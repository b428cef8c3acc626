package speed

import (
	"math"
	"slices"
	"strconv"

	"knee/data"
	"knee/fit/prior"
	"knee/fit/speed/form"
)

// resized returns the change of ln step time, and of ln computation alone, because
// columns of the network's size differ from the one value measured: each has a
// slope from the prior. With data parallelism the length of a sample does not
// change messages.
func (g *group) resized(c data.Config) (step, compute prior.Coordinate, why []string) {
	if c.Architecture == g.arch || g.family == form.LayoutFamily && g.arch.Known() {
		return step, compute, nil
	}
	for _, name := range data.ArchitectureNames() {
		measured, _ := strconv.ParseFloat(g.arch.Column(name), 64)
		asked, _ := strconv.ParseFloat(c.Architecture.Column(name), 64)
		if measured > 0 && asked > 0 && measured != asked && !slices.ContainsFunc(g.knobs, func(k knob) bool { return k.name == name }) {
			slope, ln := g.prior.Forms["slopes"][slopeKind(name)], math.Log(asked/measured)
			of := &step
			if name == "seq_len" && g.family != form.LayoutFamily {
				of = &compute
			}
			of.Mean, of.SD = of.Mean+slope.Mean*ln, math.Hypot(of.SD, slope.SD*ln)
			why = append(why, name+" "+amount(asked)+", measured "+amount(measured))
		}
	}
	return step, compute, why
}

// tiers returns the variance of ln step time because communication of more
// workers than measured may pass further tiers of the network: its logarithm is
// a random walk over that of the workers.
func (g *group) tiers(p *form.Point) float64 {
	further := p.LnWorkers - math.Log(max(g.ranges[p.Type].Workers[1], 2))
	if further <= 0 {
		return 0
	}
	return sq(g.prior.Kernel.Tiers*g.onLinks(p)) * further
}

// untried returns the variance of ln step time because a part of the layout, or the
// number of servers, is asked at another value than the only one measured: of numbers
// a random walk over the logarithm.
func (g *group) untried(c data.Config) float64 {
	distance := 0.
	for i := range g.knobs {
		k := &g.knobs[i]
		if k.kind != layoutKnob || k.varied() || k.of(c, 0) == k.usual {
			continue
		}
		to, err := strconv.ParseFloat(k.of(c, 0), 64)
		if err == nil {
			distance += math.Abs(math.Log(to / k.lo))
		} else {
			distance++
		}
	}
	if t := slices.Index(g.types, c.GPUType); g.family == form.ServerFamily && g.ranges[t].PS[0] == g.ranges[t].PS[1] {
		distance += math.Abs(math.Log(float64(max(c.PS, 1)) / g.ranges[t].PS[0]))
	}
	return sq(g.prior.Kernel.Untried) * distance
}

// newKnob reports whether one of the study's own knobs, a number measured at one value,
// has another.
func (g *group) newKnob(p *form.Point) bool {
	return slices.ContainsFunc(g.knobs, func(k knob) bool {
		return k.kind == ownKnob && k.numeric && !k.varied() && p.Knobs[k.first] != 0
	})
}

// onLinks returns the derivative of ln step time by that of communication, at the
// mode.
func (g *group) onLinks(p *form.Point) float64 {
	const h = 1e-3
	slower := *g.post.at(p)
	step, _ := g.post.best.LogTimes(&slower)
	slower.LnLinks += h
	later, _ := g.post.best.LogTimes(&slower)
	return (later - step) / h
}
