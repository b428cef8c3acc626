package bayesopt

import "math"

// repeatShare is the part of a known budget, 1/repeatShare, that may go into
// measuring again: of a dozen trials three, so that at least nine
// configurations are seen.
const repeatShare = 4

// mayRepeat reports whether a trial may be spent on a candidate that was
// measured before.
func (p *Problem) mayRepeat() bool {
	if !p.opts.Noisy || p.opts.Once || p.bestIndex < 0 {
		return false
	}
	repeats := 0
	for _, n := range p.looks {
		repeats += max(0, n-1)
	}
	return p.opts.Trials == 0 || repeatShare*(repeats+1) <= p.opts.Trials
}

// again suggests to measure a candidate once more if that is expected to
// improve the choice of the best by more than a share of the objective, and by
// more than the best new trial is, whose worth is given as its logarithm.
func (p *Problem) again(post *Posterior, worth, least float64) (Suggestion, bool) {
	if !p.mayRepeat() {
		return Suggestion{}, false
	}
	pick, gain := p.mostTelling(post)
	if pick < 0 || gain < least || math.Log(gain)-p.dearness(post)(pick, p.belief(post, pick)) <= worth {
		return Suggestion{}, false
	}
	return p.repeat(pick, post, "again: another look is expected to improve the choice of the best by "+shareText(gain)), true
}

func (p *Problem) repeat(i int, post *Posterior, why string) Suggestion {
	s := p.suggest(i, post, why)
	s.Remeasure, s.Best = true, p.favourite(post)
	return s
}

// mostTelling returns the measured candidate of which another look is expected
// to improve the choice of the best most, and by what fraction of the
// objective; −1 and 0 if there is none. A look moves the posterior mean of a
// candidate of variance v by a normal amount of variance v²/(v + noise), and
// the choice is improved by as much as that takes a rival below the favourite,
// or the favourite above the second: the knowledge gradient for independent
// candidates (Frazier, Powell and Dayanik 2008, section 4). So looks go where
// they decide: none to a clear winner, and few to rivals so close that either
// will do.
func (p *Problem) mostTelling(post *Posterior) (pick int, gain float64) {
	favourite := p.favourite(post)
	best, second := p.expected(post, favourite), math.Inf(1)
	type outlook struct{ mean, moves float64 }
	seen := map[int]outlook{}
	noise := post.NoiseSD()
	for i := range p.cands {
		if p.standing[i] != tried || p.looks[i] == 0 {
			continue
		}
		m, sd := p.belief(post, i).Moments()
		seen[i] = outlook{m, sd * sd / math.Hypot(sd, noise)}
		if i != favourite {
			second = min(second, m)
		}
	}
	pick = -1
	for i, s := range seen {
		behind := s.mean - best
		if i == favourite {
			behind = second - best
		}
		g := math.Exp(LogEI(behind, s.moves, 0))
		if g > gain || g == gain && pick >= 0 && p.priority(i) > p.priority(pick) {
			pick, gain = i, g
		}
	}
	return pick, gain
}
