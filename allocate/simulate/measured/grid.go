package measured

import (
	"cmp"
	"slices"
)

// grid interpolates measured points along equal workers per node: linear in the batch,
// then in workers per node, then in nodes. Beyond the measured ones the last value holds;
// it never divides work finer than was measured. Points are by nodes, then workers, then
// rising batch.
type grid [][][]point

func newGrid(points []point) (g grid) {
	for _, level := range runs(average(points), func(p point) float64 { return p.nodes }) {
		g = append(g, runs(level, func(p point) float64 { return p.workers }))
	}
	return g
}

// runs divides points into runs of one key.
func runs[K comparable](points []point, key func(point) K) (out [][]point) {
	for i, p := range points {
		if i == 0 || key(points[i-1]) != key(p) {
			out = append(out, nil)
		}
		out[len(out)-1] = append(out[len(out)-1], p)
	}
	return out
}

// at answers for workers spread over nodes.
func (g grid) at(nodes, workers, batch float64) (row, bool) {
	if len(g) == 0 {
		return row{}, false
	}
	return blend(g, nodes, func(level [][]point) float64 { return level[0][0].nodes }, func(level [][]point) row {
		here := workers / nodes * level[0][0].nodes
		return blend(level, here, func(line []point) float64 { return line[0].workers }, func(line []point) row { return along(line, batch) })
	}), true
}

// blend interpolates between the elements whose rising keys x lies between; beyond the
// ends it holds the last.
func blend[E any](s []E, x float64, key func(E) float64, at func(E) row) row {
	k, found := slices.BinarySearchFunc(s, x, func(e E, x float64) int { return cmp.Compare(key(e), x) })
	if k == len(s) {
		return at(s[k-1])
	}
	b := at(s[k])
	if found || k == 0 {
		return b
	}
	a, from := at(s[k-1]), key(s[k-1])
	w := (x - from) / (key(s[k]) - from)
	return row{a.batch, a.step + w*(b.step-a.step), a.sync + w*(b.sync-a.sync)}
}
