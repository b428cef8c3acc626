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
	g.members = nil
	whitened := map[*group]*whitening{g: w}
	if g.learned() {
		for _, m := range g.limits() {
			if err := m.prepare(); err != nil {
				return err
			}
			w, err := m.settle(ctx)
			if err != nil {
				return err
			}
			g.members, whitened[m.group] = append(g.members, m), w
		}
		g.weigh()
	}
	dealt := g.deal()
	for slices.ContainsFunc(dealt[1:], func(of []int) bool { return of == nil }) { // what is too unlikely for a draw is left out
		at := 0
		g.members = slices.DeleteFunc(g.members, func(member) bool { at++; return dealt[at] == nil })
		dealt = g.deal()
	}
	for i, of := range dealt {
		at := g
		if i > 0 {
			at = g.members[i-1].group
		}
		at.post = newPosterior(at, whitened[at], g.seed(seed), of, nil)
	}
	return nil
}

// weigh turns the prior shares of the members into posterior ones.
func (g *group) weigh() {
	top, sum := g.evidence, 0.
	for _, m := range g.members {
		top = max(top, m.evidence)
	}
	for i, m := range g.members {
		g.members[i].share = m.share * math.Exp(m.evidence-top)
		sum += g.members[i].share
	}
	sum += math.Exp(g.evidence - top)
	for i := range g.members {
		g.members[i].share /= sum
	}
}

// deal returns the draws that are taken from the group and from each of its
// members: the golden ratio spreads them evenly over any shares.
func (g *group) deal() [][]int {
	of := make([][]int, 1+len(g.members))
	for d := range draws {
		_, u := math.Modf(float64(d+1) * math.Phi)
		at := 0
		for i, m := range g.members {
			if u -= m.share; u < 0 {
				at = i + 1
				break
			}
		}
		of[at] = append(of[at], d)
	}
	return of
}

// limits are the models in which nothing of a step is the same at any batch,
// nothing is sent over the links that were measured, or neither: Amdahl's law
// and linear scaling. The prior of the whole form hardly reaches them, and few
// measurements leave them possible: beforehand they are together as likely as it.
// More than two measurements a coordinate tell by themselves what takes time.
func (g *group) limits() []member {
	if g.family != form.CollectiveFamily || len(g.rows) > 2*g.task.coords.n {
		return nil
	}
	absent := [][]string{{"fixed_share"}, {"intra"}, {"fixed_share", "intra"}}
	var out []member
	for _, names := range absent {
		at := *g
		at.absent = names
		out = append(out, member{&at, 1 / float64(len(absent))})
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

// posteriors returns those that draws are taken from.
func (g *group) posteriors() []*posterior {
	var all []*posterior
	if len(g.post.mine) > 0 {
		all = append(all, g.post)
	}
	for _, m := range g.members {
		all = append(all, m.post)
	}
	return all
}

// sampled is what the draws say of ln step time, and the variance of each about
// that.
type sampled struct {
	ln, variance [draws]float64
	buffer       [draws]float64
}

// sample fills s with the draws at a point; the answering processor may have
// something in common with earlier points.
func (s *sampled) sample(q *question, a *answering) {
	for _, post := range q.g.posteriors() {
		of := s.buffer[:len(post.curves)]
		process := a.spread(post, &q.p, of)
		for i, d := range post.mine {
			s.ln[d] = of[post.which[i]]
			s.variance[d] = sq(post.scales[d])*process + q.further
		}
	}
}

// noisy returns the draws with what the process leaves open and a new run.
func (s *sampled) noisy(g *group) []float64 {
	for _, post := range g.posteriors() {
		for _, d := range post.mine {
			s.ln[d] += math.Sqrt(s.variance[d])*post.gauss[d] + post.fresh*post.noise[d]
		}
	}
	return s.ln[:]
}

// expected is the mean of the step time over the draws, in seconds, what a single
// run adds left out.
func (s *sampled) expected() (mean float64) {
	for d, ln := range s.ln {
		mean += math.Exp(ln+s.variance[d]/2) / draws
	}
	return mean
}
