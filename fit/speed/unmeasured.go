package speed

import (
	"fmt"
	"hash/fnv"
	"math"
	"math/rand/v2"
	"slices"
	"strconv"

	"gonum.org/v1/gonum/stat/distuv"

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
	from, to := g.arch, c.Architecture
	if (from.Parameters > 0) != (to.Parameters > 0) && from.Count() > 0 { // comparable by their parameters alone
		from, to = data.Architecture{Parameters: from.Count(), SeqLen: from.SeqLen}, data.Architecture{Parameters: to.Count(), SeqLen: to.SeqLen}
	}
	for _, name := range data.ArchitectureNames() {
		measured, _ := strconv.ParseFloat(from.Column(name), 64)
		asked, _ := strconv.ParseFloat(to.Column(name), 64)
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

// effect is that of a value never measured on ln step time: normal, of mean zero.
type effect struct {
	value    string
	variance float64
}

// variates returns standard normal variates of the effect, the same for the same value.
func (e effect) variates(n int) []float64 {
	h := fnv.New64a()
	h.Write([]byte(e.value))
	return stratified(distuv.UnitNormal, n, rand.New(rand.NewPCG(h.Sum64(), 0)))
}

// effects returns the effects of what was never measured on GPU type t: of words, given
// the labels of the knobs with an unknown one, and of other values of a part of the layout, or other
// numbers of servers, than the only one measured. That of a number is a random walk over
// its logarithm, with one effect per doubling.
func (g *group) effects(c data.Config, t int, words []string) (es []effect) {
	untried := sq(g.prior.Kernel.Untried)
	walk := func(name string, from, to float64) {
		left := math.Log(to / from)
		sign := math.Copysign(1, left)
		left = math.Abs(left)
		for n := sign; left > 0; n += sign {
			es = append(es, effect{fmt.Sprintf("%s·2^%g", name, n), untried * min(left, math.Ln2)})
			left -= math.Ln2
		}
	}
	for i := range g.knobs {
		k := &g.knobs[i]
		switch label := k.label(); {
		case slices.Contains(words, label):
			variance := untried
			if k.kind == ownKnob {
				variance = sq(g.prior.Forms["slopes"]["level"].SD)
			}
			es = append(es, effect{label + "=" + k.of(c, 0), variance})
		case k.kind == layoutKnob && k.numeric && !k.varied():
			if to, err := strconv.ParseFloat(k.of(c, 0), 64); err == nil {
				walk(label, k.lo, to)
			}
		}
	}
	if r := &g.ranges[t]; g.family == form.ServerFamily && r.PS[0] == r.PS[1] {
		walk("ps", r.PS[0], float64(max(c.PS, 1)))
	}
	return es
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
