package speed

import (
	"context"
	"math"
	"slices"

	"knee/fit/prior"
	"knee/fit/speed/form"
)

// member is another model of the same measurements, with its posterior
// probability.
type member struct {
	*group
	share float64
}

// average makes what predictions need: draws from the posterior of the group
// and of other models of the same measurements, each as often as it is likely
// (Hoeting et al., "Bayesian model averaging: a tutorial", 1999).
func (g *group) average(ctx context.Context, w *whitening, seed int64) error {
	if err := g.draw(w, seed); err != nil {
		return err
	}
	g.members = nil
	if g.like != nil || !g.learned() {
		return nil
	}
	all, whitened := []member{{g, 1}}, []*whitening{w}
	for _, m := range append(g.alikes(), g.limits()...) {
		if err := m.prepare(); err != nil {
			return err
		}
		w, err := m.settle(ctx)
		if err != nil {
			return err
		}
		all, whitened = append(all, m), append(whitened, w)
	}
	top, sum := math.Inf(-1), 0.
	for i, m := range all {
		all[i].share = math.Log(m.share) + m.evidence
		top = max(top, all[i].share)
	}
	for i := range all {
		all[i].share = math.Exp(all[i].share - top)
		sum += all[i].share
	}
	for i, m := range all[1:] {
		if m.share /= sum; m.share*draws <= .5 {
			continue
		}
		if err := m.draw(whitened[i+1], seed); err != nil {
			return err
		}
		g.members = append(g.members, m)
	}
	return nil
}

// alikes are the models in which several GPU types differ less than the prior
// says in anything but a factor of the whole step: rows of a second type then
// mean a ratio, unless they contradict.
func (g *group) alikes() []member {
	var out []member
	for _, unlike := range []float64{.3, .1} {
		if at := *g; len(g.types) > 1 {
			at.size.Unlike = unlike
			out = append(out, member{&at, 1})
		}
	}
	return out
}

// limits are the models in which nothing of a step is the same at any batch,
// nothing is sent over the links that were measured, or neither: Amdahl's law
// and linear scaling. The prior of the whole form hardly reaches them, and few
// measurements leave them possible. More than two a coordinate tell by
// themselves what takes time.
func (g *group) limits() []member {
	if g.family != form.CollectiveFamily || len(g.rows) > 2*g.task.coords.n {
		return nil
	}
	var out []member
	for _, names := range [][]string{{"fixed_share"}, {"intra"}, {"fixed_share", "intra"}} {
		at := *g
		at.absent = names
		out = append(out, member{&at, g.prior.Limits / 3})
	}
	return out
}

// asLimit returns the prior of a coordinate where some parts of the form take
// no time. Links between nodes stay as they are while all that was measured is
// inside one.
func (g *group) asLimit(name string, p prior.Coordinate) prior.Coordinate {
	const negligible = -8 // e⁻⁸: of a step, less than any clock tells
	intra := g.prior.Forms[form.CollectiveFamily]["intra"]
	switch {
	case slices.Contains(g.absent, name):
		p.Mean, p.SD = negligible, 1
	case name == "inter_over_intra" && slices.Contains(g.absent, "intra") && !slices.ContainsFunc(g.pts, func(p form.Point) bool { return p.Nodes > 1 }):
		p.Mean, p.SD = p.Mean+intra.Mean-negligible, math.Hypot(p.SD, intra.SD)
	}
	return p
}

// draw makes what predictions of the group alone need.
func (g *group) draw(w *whitening, seed int64) (err error) {
	g.best = g.task.form.Bind(g.task.coords.theta(g.z))
	g.post, err = newPosterior(g, w, g.seed(seed))
	return err
}

// of returns the member that draw d is taken from, nil for the group itself:
// the golden ratio spreads draws evenly over any shares.
func (g *group) of(d int) *group {
	_, u := math.Modf(float64(d+1) * math.Phi)
	for _, m := range g.members {
		if u -= m.share; u < 0 {
			return m.group
		}
	}
	return nil
}

// sample replaces draws of the group, noise included, by those of its members.
func (g *group) sample(p *form.Point, further float64, of []float64) {
	if len(g.members) == 0 {
		return
	}
	drawn := map[*group][]float64{}
	for _, m := range g.members {
		v := make([]float64, draws)
		m.post.addNoise(m.post.spread(p, nil, v), further, v)
		drawn[m.group] = v
	}
	for d := range of {
		if m := g.of(d); m != nil {
			of[d] = drawn[m][d]
		}
	}
}
