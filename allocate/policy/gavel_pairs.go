package policy

import (
	"slices"

	"knee/allocate"
	"knee/allocate/policy/gavel"
)

// names are those of a pair.
func names(s allocate.State, p gavel.Pair) [2]string {
	return [2]string{s.Jobs[p.A].Name, s.Jobs[p.B].Name}
}

// pair lists the pairs of gangs of one size that are faster on the same GPUs than
// in turns, and books what pairs have had since the last decision.
func (g *Gavel) pair(all *gangs, p *gavel.Problem) {
	if g.beside == nil {
		return
	}
	s, old := all.state, g.pairs
	g.pairs = map[[2]string]*gavelAccount{}
	for b := range s.Jobs {
		for a := range b {
			pair := gavel.Pair{A: a, B: b, Speed: make([][2]float64, len(all.types))}
			gains := false
			for k, t := range all.types {
				x, y := g.together(&s.Jobs[a], &s.Jobs[b], t)
				if x > 0 {
					pair.Speed[k] = [2]float64{x * p.Speed[a][k], y * p.Speed[b][k]}
					gains = gains || pair.Speed[k][0] > 0 && pair.Speed[k][1] > 0
				}
			}
			if !gains {
				continue
			}
			p.Pairs = append(p.Pairs, pair)
			account := old[names(s, pair)]
			if account == nil {
				account = &gavelAccount{got: slices.Repeat([]float64{gavelRound / 2}, len(all.types)), short: make([]float64, len(all.types)), share: make([]float64, len(all.types))}
			}
			if account.paired {
				account.got[account.kind] += s.Now - g.last
				account.paired = false
			}
			g.pairs[names(s, pair)] = account
		}
	}
}
