package plots

import (
	"fmt"
	"math"
	"slices"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/vg/draw"

	"knee/allocate/plan"
	"knee/internal/grouped"
)

// NewClusterValue draws the value of the best plan found for each size of a cluster, with
// its upper bound, and the gain of each further node, one GPU type at a time. It leaves
// out sizes that not all jobs can run on, and fails if no GPU type has two left.
func NewClusterValue(subtitle string, points []plan.CurvePoint) (*Panels, error) {
	value := newChart("Value", "", "nodes", "value of the plan")
	gain := newChart("What a further node adds", "", "nodes", "value per node added")
	xs, ys, gains := newExtent(), newExtent(), newExtent()
	feasible := slices.DeleteFunc(slices.Clone(points), func(p plan.CurvePoint) bool { return !p.Feasible })
	if err := check("points", feasible, finite); err != nil {
		return nil, err
	}
	for _, p := range feasible {
		xs.add(float64(p.Nodes))
		ys.add(p.Value, p.Bound)
	}
	types, sizes := grouped.By(feasible, func(p plan.CurvePoint) string { return p.GPUType })
	for i, name := range types {
		if len(sizes[name]) < 2 {
			continue
		}
		value.addValue(i, name, sizes[name])
		gain.addSteps(i, name, sizes[name])
		for _, p := range sizes[name][1:] {
			gains.add(p.PerNode, 0)
		}
	}
	if gains.empty() {
		return nil, bad("points", "one size or none that every job can run on", "at least two sizes of a GPU type")
	}
	for _, c := range []*Chart{value, gain} {
		extent{math.Max(0, xs.lo-1), xs.hi}.pad(0, 0.05).set(&c.Plot.X, plot.LinearScale{}, linearTicks{want: 8, whole: true})
	}
	setY(value.Plot, ys, false, 0)
	setY(gain.Plot, gains, false, 0)
	value.explain(entry{label: "no plan exceeds", line: guide(mutedColor, dotPattern...)})
	return newPanels("What a cluster is worth to its jobs", subtitle, value, gain), nil
}

// addValue adds the curve of one GPU type with its bound, and marks the present cluster.
func (c *Chart) addValue(i int, name string, points []plan.CurvePoint) {
	col := seriesColor(i)
	curve, glyph := solid(col), mark(col, seriesShape(i))
	var xs, ys, bounds []float64
	var pts []Point
	for _, p := range points {
		x := float64(p.Nodes)
		xs, ys, bounds = append(xs, x), append(ys, p.Value), append(bounds, p.Bound)
		pts = append(pts, Point{X: x, Y: p.Value})
		c.tooltips = append(c.tooltips, tooltip{x, p.Value, fmt.Sprintf("%s\n%d nodes\nvalue %s, no plan exceeds %s", name, p.Nodes, Number(p.Value), Number(p.Bound))})
	}
	c.add(polyline(guide(mutedColor, dotPattern...), xs, bounds), polyline(curve, xs, ys), dots(glyph, pts))
	for _, p := range points {
		if p.Now {
			c.add(marker(mark(col, haloGlyph{}), float64(p.Nodes), p.Value))
			c.annotations = append(c.annotations, annotation{float64(p.Nodes), p.Value, fmt.Sprintf("now: %d", p.Nodes), col})
		}
	}
	c.explain(entry{label: name, line: curve, glyph: glyph})
}

// addSteps adds, for one GPU type, what each node between two sizes adds.
func (c *Chart) addSteps(i int, name string, points []plan.CurvePoint) {
	stairs := solid(seriesColor(i))
	var xs, ys []float64
	for k, p := range points[1:] {
		from := points[k].Nodes
		xs, ys = append(xs, float64(from), float64(p.Nodes)), append(ys, p.PerNode, p.PerNode)
		c.tooltips = append(c.tooltips, tooltip{float64(from+p.Nodes) / 2, p.PerNode, fmt.Sprintf("%s, from %d to %d nodes\n%s per node", name, from, p.Nodes, Number(p.PerNode))})
	}
	c.add(polyline(stairs, xs, ys))
	for _, p := range points {
		if p.Now {
			c.add(drop(draw.LineStyle{Color: seriesColor(i), Width: thinWidth, Dashes: dashPattern}, float64(p.Nodes), math.Inf(1)))
		}
	}
	c.explain(entry{label: name, line: stairs})
}
