package plots

import (
	"fmt"
	"math"

	"knee/allocate/plan"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/vg/draw"
)

// ClusterValue describes what clusters of other sizes are worth: the value of
// the best plan found against the number of nodes, one GPU type at a time.
type ClusterValue struct {
	Title, Subtitle string
	Points          []plan.CurvePoint // of each GPU type together, nodes ascending
}

// NewClusterValue draws the value with the bound that no plan exceeds in one
// panel, and in the other the staircase of what each further node adds: it
// falls where another node is no longer worth its price. Sizes at which some
// job cannot run are left out. It fails if fewer than two sizes of a type are
// left, for all types.
func NewClusterValue(v ClusterValue) (*Panels, error) {
	value := newChart("Value", "", "nodes", "value of the plan")
	gain := newChart("What a further node adds", "", "nodes", "value per node added")
	xs, ys, gains := newExtent(), newExtent(), newExtent()
	var types []string
	sizes := map[string][]plan.CurvePoint{}
	for i, p := range v.Points {
		at := fmt.Sprintf("points[%d]", i)
		if !p.Feasible {
			continue
		}
		for field, x := range map[string]float64{".value": p.Value, ".bound": p.Bound, ".value_per_node": p.PerNode} {
			if err := finite(at+field, x); err != nil {
				return nil, err
			}
		}
		if sizes[p.GPUType] == nil {
			types = append(types, p.GPUType)
		}
		sizes[p.GPUType] = append(sizes[p.GPUType], p)
		xs.add(float64(p.Nodes))
		ys.add(p.Value, p.Bound)
	}
	drawn := false
	for i, name := range types {
		if len(sizes[name]) < 2 {
			continue
		}
		drawn = true
		value.addValue(i, name, sizes[name])
		for _, p := range sizes[name][1:] {
			gains.add(p.PerNode, 0)
		}
		gain.addSteps(i, name, sizes[name])
	}
	if !drawn {
		return nil, bad("points", "one size or none that every job can run on", "at least two sizes of a GPU type")
	}
	for _, c := range []*Chart{value, gain} {
		extent{math.Max(0, xs.lo-1), xs.hi}.pad(0, 0.05).set(&c.Plot.X, plot.LinearScale{}, linearTicks{want: 8, whole: true})
	}
	setY(value.Plot, ys, false, 0)
	setY(gain.Plot, gains, false, 0)
	value.legend = append(value.legend, entry{label: "no plan exceeds", line: boundStyle()})
	return newPanels(v.Title, v.Subtitle, value, gain), nil
}

// boundStyle is the line of the upper bound.
func boundStyle() *draw.LineStyle {
	return &draw.LineStyle{Color: mutedColor, Width: 1, Dashes: dotted()}
}

// addValue adds the curve of one GPU type with its bound, and marks the
// cluster as it is.
func (c *Chart) addValue(i int, name string, points []plan.CurvePoint) {
	col := seriesColor(i)
	curve := line{style: draw.LineStyle{Color: col, Width: curveWidth}}
	bound := line{style: *boundStyle()}
	glyph := draw.GlyphStyle{Color: col, Radius: markRadius, Shape: seriesShape(i)}
	d := dots{glyph: glyph}
	for _, p := range points {
		x := float64(p.Nodes)
		curve.xs, curve.ys = append(curve.xs, x), append(curve.ys, p.Value)
		bound.xs, bound.ys = append(bound.xs, x), append(bound.ys, p.Bound)
		d.pts = append(d.pts, Point{X: x, Y: p.Value})
		c.tooltips = append(c.tooltips, tooltip{x, p.Value, fmt.Sprintf("%s\n%d nodes\nvalue %s, no plan exceeds %s", name, p.Nodes, number(p.Value), number(p.Bound))})
	}
	c.layers = append(c.layers, bound, curve, d)
	for _, p := range points {
		if p.Now {
			c.layers = append(c.layers, marker{float64(p.Nodes), p.Value, draw.GlyphStyle{Color: col, Radius: markRadius, Shape: haloGlyph{}}})
			c.annotations = append(c.annotations, annotation{x: float64(p.Nodes), y: p.Value, text: fmt.Sprintf("now: %d", p.Nodes), color: col, bold: true})
		}
	}
	c.legend = append(c.legend, entry{label: name, line: &curve.style, glyph: &glyph})
}

// addSteps adds the staircase of one GPU type: over the nodes from one size
// to the next, what each of them adds.
func (c *Chart) addSteps(i int, name string, points []plan.CurvePoint) {
	stairs := line{style: draw.LineStyle{Color: seriesColor(i), Width: curveWidth}}
	for k, p := range points[1:] {
		stairs.xs = append(stairs.xs, float64(points[k].Nodes), float64(p.Nodes))
		stairs.ys = append(stairs.ys, p.PerNode, p.PerNode)
		mid := float64(points[k].Nodes+p.Nodes) / 2
		c.tooltips = append(c.tooltips, tooltip{mid, p.PerNode, fmt.Sprintf("%s, from %d to %d nodes\n%s per node", name, points[k].Nodes, p.Nodes, number(p.PerNode))})
	}
	c.layers = append(c.layers, stairs)
	for _, p := range points {
		if p.Now {
			c.layers = append(c.layers, verticalLine{float64(p.Nodes), math.Inf(1), draw.LineStyle{Color: seriesColor(i), Width: thinWidth, Dashes: dashed()}})
		}
	}
	c.legend = append(c.legend, entry{label: name, line: &stairs.style})
}
