package measured

import (
	"cmp"
	"slices"
)

// grid interpolates measured points along equal workers per node: linear in
// the batch, then in workers per node, then in nodes. Beyond the measured
// workers per node and nodes the last value holds; it never divides work
// finer than was measured.
type grid struct{ levels []level }

// level is one node count.
type level struct {
	nodes float64
	lines []line // by rising workers
}

// line is one worker count on a node count.
type line struct {
	workers float64
	rows    []row // by rising batch
}

func newGrid(points []point) *grid {
	points = average(points)
	g := &grid{}
	for _, p := range points {
		if n := len(g.levels); n == 0 || g.levels[n-1].nodes != p.nodes {
			g.levels = append(g.levels, level{nodes: p.nodes})
		}
		l := &g.levels[len(g.levels)-1]
		if n := len(l.lines); n == 0 || l.lines[n-1].workers != p.workers {
			l.lines = append(l.lines, line{workers: p.workers})
		}
		ln := &l.lines[len(l.lines)-1]
		ln.rows = append(ln.rows, p.row)
	}
	return g
}

// at answers for workers spread over nodes.
func (g *grid) at(nodes, workers, batch float64) (row, bool) {
	if len(g.levels) == 0 {
		return row{}, false
	}
	per := workers / nodes
	i, w := bracket(g.levels, nodes, func(l level) float64 { return l.nodes })
	lo := g.levels[i].at(per, batch)
	if w == 0 {
		return lo, true
	}
	return blend(lo, g.levels[i+1].at(per, batch), w), true
}

func (l level) at(per, batch float64) row {
	i, w := bracket(l.lines, per*l.nodes, func(x line) float64 { return x.workers })
	lo := along(l.lines[i].rows, batch)
	if w == 0 {
		return lo
	}
	return blend(lo, along(l.lines[i+1].rows, batch), w)
}

func blend(a, b row, w float64) row {
	return row{a.batch, a.step + w*(b.step-a.step), a.sync + w*(b.sync-a.sync)}
}

// bracket finds x between keys: after element i by the fraction w, clamped
// to the ends.
func bracket[E any](s []E, x float64, key func(E) float64) (i int, w float64) {
	k, found := slices.BinarySearchFunc(s, x, func(e E, x float64) int { return cmp.Compare(key(e), x) })
	switch {
	case found:
		return k, 0
	case k == 0:
		return 0, 0
	case k == len(s):
		return k - 1, 0
	}
	a, b := key(s[k-1]), key(s[k])
	return k - 1, (x - a) / (b - a)
}
