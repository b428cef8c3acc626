package speed

import (
	"context"
	"math"
	"slices"

	"gonum.org/v1/gonum/stat/distuv"

	"knee/fit/prior"
	"knee/fit/speed/form"
	"knee/internal/parallel"
)

// member is another model of the same measurements.
type member struct {
	*group
	odds  float64 // prior, relative to those of the group
	share float64 // posterior probability
}

// average prepares predictions: draws from the posteriors of the group and of
// other models of the same measurements, in proportion to their probabilities
// (Hoeting et al., "Bayesian model averaging: a tutorial", 1999).
func (g *group) average(ctx context.Context, seed int64) error {
	g.members = nil
	if g.learned() {
		others, err := g.others()
		if err != nil {
			return err
		}
		g.members = others
	}
	each := func(of []*group, f func(i int, m *group) error) error {
		return parallel.Each(len(of), 1, func() func(i int) error {
			return func(i int) error { return f(i, of[i]) }
		})
	}
	if err := each(g.all()[1:], func(_ int, m *group) error { return m.settle(ctx) }); err != nil {
		return err
	}
	// Evidence at the mode, with the form linearised, spares most of the work for
	// members that would hardly get a draw.
	g.weigh()
	g.members = slices.DeleteFunc(g.members, func(m member) bool { return m.share < 1./many })
	all := g.all()
	found := make([][]float64, len(all))
	err := each(all, func(i int, m *group) (err error) {
		if m.post, err = newPosterior(m, g.seed(seed), nil); err == nil {
			found[i], m.evidence = m.post.weigh(g.seed(seed))
		}
		return err
	})
	if err != nil {
		return err
	}
	weights := map[*group][]float64{}
	for i, at := range all {
		weights[at] = found[i]
	}
	g.weigh()
	n := g.post.drawsFor(g, found[0])
	dealt := g.deal(n)
	for slices.ContainsFunc(dealt[1:], func(of []int) bool { return of == nil }) { // members too unlikely for a draw are left out
		at := 0
		g.members = slices.DeleteFunc(g.members, func(member) bool { at++; return dealt[at] == nil })
		dealt = g.deal(n)
	}
	for i, at := range g.all() {
		at.post.draw(at, g.seed(seed), systematic(weights[at], n), dealt[i])
	}
	return nil
}

// all returns the group and its members.
func (g *group) all() []*group {
	all := []*group{g}
	for _, m := range g.members {
		all = append(all, m.group)
	}
	return all
}

// weigh gives the members their posterior probabilities.
func (g *group) weigh() {
	top, sum := g.evidence, 0.
	for _, m := range g.members {
		top = max(top, m.evidence)
	}
	for i, m := range g.members {
		g.members[i].share = m.odds * math.Exp(m.evidence-top)
		sum += g.members[i].share
	}
	sum += math.Exp(g.evidence - top)
	for i := range g.members {
		g.members[i].share /= sum
	}
}

// deal divides n draws between the group and its members, in proportion to
// their shares and evenly by multiples of the golden ratio.
func (g *group) deal(n int) [][]int {
	of := make([][]int, 1+len(g.members))
	for d := range n {
		u := equidistributed(d, math.Phi)
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

// asLimit returns the prior of a coordinate where parts of the form take no
// time, communication passes one point as it does a parameter server, or
// launches take most of the compute time. With "per_batch" absent they take all of it.
func (g *group) asLimit(name string, p prior.Coordinate) prior.Coordinate {
	const (
		negligible = -8 // e⁻⁸ of a step is not measurable
		dominant   = 2  // e² times as long
	)
	switch {
	case slices.Contains(g.absent, insideNodes) && name == "intra":
		p.Mean += negligible
	case slices.Contains(g.absent, insideNodes) && name == "inter_over_intra":
		p.Mean -= negligible
	case slices.Contains(g.absent, name), g.scale.Launched && g.family == form.ServerFamily && name == "compute":
		p.Mean, p.SD = negligible, 1
	case g.serial && name == "power":
		p = g.prior.Forms[form.ServerFamily]["workers_power"]
	case g.serial && name == "intra_power":
		p = g.prior.Forms[form.ServerFamily]["workers_power"]
		p.Mean, p.SD = math.Log(p.Mean), p.SD/p.Mean
	case name == "fixed_share" && slices.Contains(g.absent, "per_batch"):
		p.Mean, p.SD = -negligible, 1
	case name == "fixed_share" && g.scale.Launched:
		p.Mean = dominant
	case name == "fixed_share":
		p = g.withLaunches(p)
	case g.scale.Launched && g.family == form.LayoutFamily && name == "compute":
		p.Mean -= dominant
	case g.scale.Launched && g.family == form.LayoutFamily && name == "launch":
		p.Mean = dominant + math.Log(g.scale.Batch)
	}
	return p
}

// posteriors returns the posteriors that have draws.
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

// sampled holds ln step time in every draw, its variance without that of a run,
// and the standard deviation of a run.
type sampled struct {
	ln, variance, fresh, buffer, process []float64
}

// resize makes room for n draws.
func (s *sampled) resize(n int) {
	if cap(s.ln) < n {
		s.ln, s.variance, s.fresh, s.buffer = make([]float64, n), make([]float64, n), make([]float64, n), make([]float64, n)
		s.process = make([]float64, mostNodes)
	}
	s.ln, s.variance, s.fresh = s.ln[:n], s.variance[:n], s.fresh[:n]
}

// sample fills s with the draws for a question, using the cache of a.
func (s *sampled) sample(q *question, a *answering) {
	s.resize(len(q.g.post.from))
	for _, post := range q.g.posteriors() {
		of, process := s.buffer[:len(post.curves)], s.process[:len(post.nodes)]
		a.spread(post, &q.p, of, process)
		for i, d := range post.mine {
			at := post.nodeOf(post.from[d])
			s.ln[d] = of[post.which[i]]
			s.variance[d] = process[at] + q.further
			s.fresh[d] = post.nodes[at].fresh
		}
		if q.unlinked.SD > 0 {
			s.slow(q, post)
		}
	}
}

// slow adds the time of a network between nodes that was never measured: each draw has
// its own speed for it, never faster than the links inside a node.
func (s *sampled) slow(q *question, post *posterior) {
	p := *post.at(&q.p)
	for i, d := range post.mine {
		u := equidistributed(d, math.Sqrt2) // members are dealt by another sequence
		between := p
		between.LnLinks += max(q.unlinked.Mean+q.unlinked.SD*distuv.UnitNormal.Quantile(u), 0)
		curve := post.curves[post.which[i]]
		before, _ := curve.LogTimes(&p)
		after, _ := curve.LogTimes(&between)
		s.ln[d] += after - before
	}
}

// noisy adds the process's uncertainty and the noise of a new run to the draws.
func (s *sampled) noisy(g *group) []float64 {
	for _, post := range g.posteriors() {
		for _, d := range post.mine {
			ln := s.ln[d] + math.Sqrt(s.variance[d])*post.gauss[d] + s.fresh[d]*post.noise[d]
			s.ln[d] = min(max(ln, math.Log(minTime)), math.Log(maxTime))
		}
	}
	return s.ln
}

// expected returns the mean step time over the draws, in seconds, without the
// noise of a run. Draws count as at most the longest step.
func (s *sampled) expected() (mean float64) {
	for d, ln := range s.ln {
		mean += min(math.Exp(ln+s.variance[d]/2), maxTime) / float64(len(s.ln))
	}
	return mean
}
