package measured

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"slices"

	"gonum.org/v1/gonum/mat"

	"knee/data"
)

// maxNodesAsked is the node count from which the published program treats all alike.
const maxNodesAsked = 16

// interpolate is for placements that were not measured.
func (t *Table) interpolate(nodes, workers int, batch float64) (row, bool) {
	if nodes < 1 || workers < nodes {
		return row{}, false
	}
	n := min(nodes, maxNodesAsked)
	if r, ok := t.exact[[3]float64{float64(n), float64(workers), batch}]; ok {
		return r, true
	}
	for i := range t.simplices {
		if r, ok := t.simplices[i].at(float64(n), float64(workers), batch); ok {
			return r, true
		}
	}
	return t.grid.at(float64(nodes), float64(workers), batch)
}

// simplex is a tetrahedron of measured points, with the inverse of its edges.
type simplex struct {
	v       [4]point
	inverse [9]float64 // by row
}

// inside is how far outside a simplex rounding may put a point of it.
const inside = 1e-9

func newSimplex(v [4]point) (simplex, bool) {
	m := mat.NewDense(3, 3, nil)
	for k := range 3 {
		m.SetCol(k, []float64{v[k].nodes - v[3].nodes, v[k].workers - v[3].workers, v[k].batch - v[3].batch})
	}
	s := simplex{v: v}
	err := mat.NewDense(3, 3, s.inverse[:]).Inverse(m)
	return s, err == nil
}

// at interpolates linearly, if the point lies in the simplex.
func (s *simplex) at(nodes, workers, batch float64) (row, bool) {
	d := [3]float64{nodes - s.v[3].nodes, workers - s.v[3].workers, batch - s.v[3].batch}
	r, rest := row{batch: batch}, 1.0
	for k := range 3 {
		w := s.inverse[3*k]*d[0] + s.inverse[3*k+1]*d[1] + s.inverse[3*k+2]*d[2]
		if w < -inside {
			return r, false
		}
		rest -= w
		r.step += w * s.v[k].step
		r.sync += w * s.v[k].sync
	}
	if rest < -inside {
		return r, false
	}
	r.step += rest * s.v[3].step
	r.sync += rest * s.v[3].sync
	return r, true
}

// loadQueries reads the values of the points the published runs asked for.
func (p *Profiles) loadQueries(file string) error {
	return eachRow(file, []string{"application", "num_nodes", "num_replicas", "local_bsz", "step_time", "sync_time"}, func(r *data.Row) {
		q := [3]float64{number(r, "num_nodes"), number(r, "num_replicas"), number(r, "local_bsz")}
		if a := p.Apps[r.Text("application")]; a != nil && a.Tables[publishedType] != nil {
			a.Tables[publishedType].exact[q] = row{q[2], number(r, "step_time"), number(r, "sync_time")}
		}
	})
}

// loadSimplices reads which points span the published interpolation, by index.
func (t *Table) loadSimplices(file string) error {
	names := []string{"v0", "v1", "v2", "v3"}
	return eachRow(file, names, func(r *data.Row) {
		var corners [4]point
		for k, name := range names {
			x := number(r, name)
			if x < 0 || x >= float64(len(t.points)) || x != math.Trunc(x) {
				r.Bad(name, fmt.Sprintf("an index into the %d measured points of %s", len(t.points), t.app))
				return
			}
			corners[k] = t.points[int(x)]
		}
		if s, ok := newSimplex(corners); ok {
			t.simplices = append(t.simplices, s)
		}
	})
}

func number(r *data.Row, column string) float64 { return r.Required(column, data.Any("a number")) }

// eachRow reads a CSV file; one that does not exist has no rows.
func eachRow(file string, columns []string, do func(*data.Row)) error {
	err := data.LoadRows(file, columns, func(r *data.Row) error {
		do(r)
		return nil
	})
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}

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
