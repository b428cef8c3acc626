package shard

import (
	"cmp"
	"slices"
)

// PAA is the parameter assignment of Optimus (Peng et al., EuroSys 2018, section 5.3).
// With avg the mean elements per server, tensors go, largest first,
//
//   - if not larger than 1 % of avg, to the server with fewest requests;
//   - if not larger than avg, to the fullest server that stays within avg, else to the emptiest;
//   - if larger, in slices of avg to the emptiest servers.
//
// Ties go to the server of lowest number, and tensors of equal size keep their order.
func PAA(tensors []Tensor, servers int) []Server {
	out := make([]Server, servers)
	avg := float64(Total(tensors)) / float64(servers)
	order := slices.Clone(tensors)
	slices.SortStableFunc(order, func(a, b Tensor) int { return cmp.Compare(b.Elements, a.Elements) })
	for _, t := range order {
		switch size := float64(t.Elements); {
		case size <= 0.01*avg:
			least(out, func(s Server) int64 { return int64(len(s.Pieces)) }).give(t, 0, t.Elements)
		case size <= avg:
			least(out, func(s Server) int64 {
				if float64(s.Elements+t.Elements) <= avg {
					return -1 - s.Elements // the fullest of these, before all others
				}
				return s.Elements
			}).give(t, 0, t.Elements)
		default:
			slice(out, t, max(1, int64(avg)))
		}
	}
	return out
}

// least returns the first server for which of is least.
func least(servers []Server, of func(Server) int64) *Server {
	best := 0
	for i := range servers {
		if of(servers[i]) < of(servers[best]) {
			best = i
		}
	}
	return &servers[best]
}

// slice cuts a tensor into pieces of a size and one of what is left.
func slice(servers []Server, t Tensor, size int64) {
	for at := int64(0); at < t.Elements; at += size {
		least(servers, func(s Server) int64 { return s.Elements }).give(t, at, min(size, t.Elements-at))
	}
}
