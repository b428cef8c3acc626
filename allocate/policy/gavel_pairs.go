package policy

import (
	"slices"

	"knee/allocate"
	"knee/allocate/policy/gavel"
)

// Beside tells the policy how fast a job is beside another on the GPUs of one,
// relative to alone; 0 if nobody knows.
func (g *Gavel) Beside(share func(job, beside, gpuType string) float64) { g.beside = share }

// Guests are the jobs that the last answer gives no GPUs of their own, by place
// in the state: who else's they run on, and which of their options that is.
func (g *Gavel) Guests() map[int][2]int { return g.guests }

// names are those of a pair.
func names(s allocate.State, p gavel.Pair) [2]string {
	return [2]string{s.Jobs[p.A].Name, s.Jobs[p.B].Name}
}

// pair lists the gangs of one size that together are faster beside each other
// than by turns, and books what pairs have had since the last decision.
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
				x, y := g.beside(s.Jobs[a].Name, s.Jobs[b].Name, t), g.beside(s.Jobs[b].Name, s.Jobs[a].Name, t)
				if x > 0 && y > 0 && x+y > 1 && p.Size[a] == p.Size[b] {
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
