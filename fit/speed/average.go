package speed

import (
	"context"
	"math"

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
// (Hoeting et al., "Bayesian model averaging: a tutorial", 1999). Of several GPU
// types, that they differ as much as the prior says, or less and less in
// anything but a factor of the whole step: rows of a second type then mean a
// ratio, unless they contradict.
func (g *group) average(ctx context.Context, w *whitening, seed int64) error {
	if err := g.draw(w, seed); err != nil {
		return err
	}
	g.members = nil
	if len(g.types) == 1 || g.like != nil || !g.learned() {
		return nil
	}
	for _, unlike := range []float64{.3, .1} {
		at := *g
		at.size.Unlike = unlike
		if err := at.prepare(); err != nil {
			return err
		}
		w, err := at.settle(ctx)
		if err == nil {
			err = at.draw(w, seed)
		}
		if err != nil {
			return err
		}
		g.members = append(g.members, member{group: &at})
	}
	top, sum := g.evidence, 0.
	for _, m := range g.members {
		top = max(top, m.evidence)
	}
	for i := range g.members {
		m := &g.members[i]
		m.share = math.Exp(m.evidence - top)
		sum += m.share
	}
	for i := range g.members {
		g.members[i].share /= sum + math.Exp(g.evidence-top)
	}
	return nil
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
