package measured

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"knee/data"
	"knee/internal/list"
)

// maxShape is the most nodes on which placements are measured one by one; beyond, only
// even spreads are.
const maxShape = 4

// shape is a placement of at most maxShape nodes: the rotation that is smallest.
type shape [maxShape]uint8

// row is one measured point: seconds per step and of synchronisation.
type row struct{ batch, step, sync float64 }

// point is a measured point by node count, for interpolation.
type point struct {
	nodes, workers float64
	row
}

// Table holds the step times of one application on one GPU type.
type Table struct {
	LocalMin, LocalMax float64 // measured local batches, samples
	MaxWorkers         int     // the most workers measured

	app, gpuType string
	rows         map[shape][]point
	placed       []point // measured one by one
	scaled       []point // measured as even spreads, in file order
	points       []point // both, placed ones averaged over shapes
	simplices    []simplex
	exact        map[[3]float64]row // that the published runs interpolated, by nodes, workers and batch
	grid         grid
}

func (t *Table) add(m data.Measurement, placements bool) {
	p := point{float64(len(m.Placement)), float64(m.Workers), row{m.LocalBatch, m.StepTime, m.SyncTime}}
	t.MaxWorkers = max(t.MaxWorkers, m.Workers)
	s, ok := shapeOf(m.Placement)
	if !placements || len(m.Placement) > maxShape || !ok {
		t.scaled = append(t.scaled, p)
		return
	}
	t.rows[s] = append(t.rows[s], p)
	t.placed = append(t.placed, p)
}

// complete sorts what was read and derives the limits.
func (t *Table) complete() {
	all := t.placed
	if len(all) == 0 {
		all = t.scaled
	}
	t.LocalMin, t.LocalMax = math.Inf(1), 0
	for _, p := range all {
		t.LocalMin, t.LocalMax = math.Min(t.LocalMin, p.batch), math.Max(t.LocalMax, p.batch)
	}
	for s, rows := range t.rows {
		slices.SortStableFunc(rows, func(a, b point) int { return cmp.Compare(a.batch, b.batch) })
		t.rows[s] = slices.CompactFunc(rows, func(a, b point) bool { return a.batch == b.batch })
	}
	t.points = append(average(t.placed), t.scaled...)
	t.grid = newGrid(t.points)
}

// average merges points of equal nodes, workers and batch, in rising order.
func average(in []point) []point {
	in = slices.Clone(in)
	slices.SortStableFunc(in, func(a, b point) int {
		return cmp.Or(cmp.Compare(a.nodes, b.nodes), cmp.Compare(a.workers, b.workers), cmp.Compare(a.batch, b.batch))
	})
	var out []point
	for _, same := range runs(in, func(p point) [3]float64 { return [3]float64{p.nodes, p.workers, p.batch} }) {
		sum := same[0]
		for _, p := range same[1:] {
			sum.step += p.step
			sum.sync += p.sync
		}
		sum.step /= float64(len(same))
		sum.sync /= float64(len(same))
		out = append(out, sum)
	}
	return out
}

// shapeOf is the shape of a placement without empty nodes, false if it has too many nodes.
func shapeOf(p data.Placement) (shape, bool) {
	var s shape
	n := 0
	for _, w := range p {
		if w == 0 {
			continue
		}
		if n == maxShape || w > math.MaxUint8 {
			return shape{}, false
		}
		s[n] = uint8(w)
		n++
	}
	best := s
	for r := 1; r < n; r++ {
		var turned shape
		for i := range n {
			turned[i] = s[(i+r)%n]
		}
		if slices.Compare(turned[:n], best[:n]) < 0 {
			best = turned
		}
	}
	return best, n > 0
}

// Times returns the seconds of one optimizer step without accumulation, and the part of
// it spent synchronising, at a local batch on a placement. A placement that was measured
// is interpolated linearly in the batch, each column for itself, and extended by its last
// segment. Others are interpolated over node count, workers and batch: as the published
// runs did where that is known, else along equal workers per node.
func (t *Table) Times(p data.Placement, batch float64) (step, sync float64, err error) {
	if s, ok := shapeOf(p); ok {
		if rows := t.rows[s]; len(rows) > 0 {
			r := along(rows, batch)
			return r.step, r.sync, nil
		}
	}
	nodes := list.Count(p, func(workers int) bool { return workers > 0 })
	r, ok := t.interpolate(nodes, p.Workers(), batch)
	if !ok || !(r.step > 0) || r.sync < 0 || r.sync > r.step {
		return 0, 0, fmt.Errorf("no step time of %s on %s as %s at local batch %g can be had from the measured tables", t.app, t.gpuType, p, batch)
	}
	return r.step, r.sync, nil
}

// along interpolates one placement.
func along(rows []point, batch float64) row {
	if len(rows) == 1 {
		return rows[0].row
	}
	k := 1
	for k < len(rows)-1 && rows[k].batch < batch {
		k++
	}
	x, y := rows[k-1], rows[k]
	at := func(a, b float64) float64 {
		return float64((b-a)/(y.batch-x.batch)*(batch-x.batch)) + a
	}
	r := row{batch, at(x.step, y.step), at(x.sync, y.sync)}
	if r.sync < 0 || r.step < r.sync { // extended too far
		r.sync = math.Max(0, math.Min(x.sync, y.sync))
		r.step = math.Max(r.step, math.Min(x.step, y.step))
	}
	return r
}
