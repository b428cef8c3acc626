package plots

import (
	"fmt"
	"math"

	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"

	"knee/data"
)

// Allocation describes the figure of who gets which GPUs: one bar per node,
// one cell per GPU, one colour per job.
type Allocation struct {
	Title, Subtitle string
	Cluster         *data.Cluster
	Plan            *data.Plan
}

// mostNodes is how many nodes fit a figure that can still be read.
const mostNodes = 400

// share is the GPUs of one job on one node.
type share struct {
	job     int // index into the jobs of the plan
	workers int
	ps      int
}

// nodeRow is one bar.
type nodeRow struct {
	node   data.Node
	shares []share
	used   int // GPUs
}

// allocationFigure is an [Allocation] that has been checked and laid out.
type allocationFigure struct {
	title, subtitle string
	rows            []nodeRow
	names           []string // of the jobs of the plan
	legend          legend
	widest          int // GPUs of the widest node, at least 1
	columns         int // nodes are laid out in columns of bars
	hasPS           bool
	unit            string // what a cell is: GPUs, or worker slots where there are none
}

// NewAllocation returns the figure, or an error that names the job or node
// at fault: a node the cluster does not have, more workers than it has GPUs,
// a cluster of more than 400 nodes.
func NewAllocation(a Allocation) (Figure, error) {
	if a.Cluster == nil || len(a.Cluster.Nodes) == 0 {
		return nil, bad("cluster", "no nodes", "at least one node")
	}
	if a.Plan == nil {
		return nil, bad("plan", "none", "a plan")
	}
	if n := len(a.Cluster.Nodes); n > mostNodes {
		return nil, bad("cluster", fmt.Sprintf("%d nodes", n), fmt.Sprintf("at most %d nodes, the most that can be read in one figure", mostNodes))
	}
	f := &allocationFigure{title: a.Title, subtitle: a.Subtitle, widest: 1, unit: "worker slots"}
	index := map[string]int{}
	for i, n := range a.Cluster.Nodes {
		if _, twice := index[n.Name]; twice {
			return nil, bad(fmt.Sprintf("cluster.nodes[%d]", i), fmt.Sprintf("%q again", n.Name), "every node once")
		}
		index[n.Name] = i
		f.rows = append(f.rows, nodeRow{node: n})
		f.widest = max(f.widest, n.GPUs)
		if n.GPUType != "cpu" {
			f.unit = "GPUs"
		}
	}
	for i, j := range a.Plan.Jobs {
		if err := f.place(i, j, index); err != nil {
			return nil, err
		}
	}
	f.columns = min(4, 1+(len(f.rows)-1)/24)
	f.addLegend(a.Plan.Jobs)
	return f, nil
}

// place puts the shares of a job on their nodes.
func (f *allocationFigure) place(i int, j data.PlannedJob, index map[string]int) error {
	f.names = append(f.names, j.Name)
	for _, s := range j.Placement {
		at := fmt.Sprintf("plan.jobs[%s].placement", j.Name)
		k, ok := index[s.Node]
		if !ok {
			return bad(at, fmt.Sprintf("node %q", s.Node), "a node of the cluster")
		}
		if s.Workers < 0 || s.PS < 0 {
			return bad(at, fmt.Sprintf("%d workers and %d ps on %s", s.Workers, s.PS, s.Node), "counts ≥ 0")
		}
		row := &f.rows[k]
		row.used += s.Workers
		if row.used > row.node.GPUs {
			return bad(at, fmt.Sprintf("%d workers on %s", row.used, s.Node), fmt.Sprintf("at most the %d GPUs it has", row.node.GPUs))
		}
		row.shares = append(row.shares, share{job: i, workers: s.Workers, ps: s.PS})
		f.hasPS = f.hasPS || s.PS > 0
	}
	return nil
}

// addLegend lists the jobs with what they get, then idle and drained GPUs.
func (f *allocationFigure) addLegend(jobs []data.PlannedJob) {
	for i, j := range jobs {
		label := fmt.Sprintf("%s, %d × %s", j.Name, j.Workers, orElse(j.GPUType, "worker"))
		if j.PS > 0 {
			label += fmt.Sprintf(" + %d ps", j.PS)
		}
		if j.Workers == 0 {
			label = j.Name + ", paused"
		}
		f.legend = append(f.legend, entry{label: label, fill: seriesColor(i)})
	}
	var idle, drained bool
	for _, r := range f.rows {
		drained = drained || r.node.Drained
		idle = idle || !r.node.Drained && r.used < r.node.GPUs
	}
	if idle {
		f.legend = append(f.legend, entry{label: "idle", fill: idleColor})
	}
	if drained {
		cross := draw.GlyphStyle{Color: axisColor, Radius: 2.5, Shape: crossGlyph{}}
		f.legend = append(f.legend, entry{label: "drained", fill: idleColor, glyph: &cross})
	}
}

// Measures of the bars, in points.
const (
	barPitch    vg.Length = 20 // from bar to bar
	barHeight   vg.Length = 15
	columnGap   vg.Length = 18
	axisRoom    vg.Length = 30 // below the bars
	nameGap     vg.Length = 6  // between node name and bar
	psNoteRoom  vg.Length = 92 // right of the bars, for parameter servers
	cellGap     vg.Length = 0.8
	shareIndent vg.Length = 3
)

// perColumn returns the number of bars in a column.
func (f *allocationFigure) perColumn() int {
	return (len(f.rows) + f.columns - 1) / f.columns
}

// Size implements [Figure]: the figure grows with its nodes and its legend.
func (f *allocationFigure) Size() (width, height vg.Length) {
	inner := DefaultWidth - 2*margin
	h := headerHeight(f.title, f.subtitle, inner) + f.legend.stripHeight(inner) + 2*lineGap +
		vg.Length(f.perColumn())*barPitch + axisRoom + 2*margin
	return DefaultWidth, h
}

// Draw implements [Figure].
func (f *allocationFigure) Draw(dc draw.Canvas) {
	fillRect(&dc, whiteColor, dc.Rectangle)
	dc = draw.Crop(dc, margin, -margin, margin, -margin)
	top := drawHeader(dc, f.title, f.subtitle)
	f.legend.drawStrip(&dc, dc.Min.X, top, dc.Size().X)
	top -= f.legend.stripHeight(dc.Size().X) + 2*lineGap
	width := (dc.Size().X - vg.Length(f.columns-1)*columnGap) / vg.Length(f.columns)
	for i := range f.columns {
		rows := f.rows[min(i*f.perColumn(), len(f.rows)):min((i+1)*f.perColumn(), len(f.rows))]
		left := dc.Min.X + vg.Length(i)*(width+columnGap)
		f.drawColumn(&dc, rows, left, left+width, top)
	}
}

// drawColumn draws one column of bars and the axis below it.
func (f *allocationFigure) drawColumn(dc *draw.Canvas, rows []nodeRow, left, right, top vg.Length) {
	var names vg.Length
	for _, r := range rows {
		names = max(names, tickStyle().Width(nodeLabel(r.node)))
	}
	left += names + nameGap
	if f.hasPS {
		right -= psNoteRoom / vg.Length(f.columns)
	}
	cell := (right - left) / vg.Length(f.widest)
	sty := tickStyle()
	sty.XAlign, sty.YAlign = draw.XRight, draw.YCenter
	for i, r := range rows {
		y := top - vg.Length(i)*barPitch - barHeight
		bar := vg.Rectangle{Min: vg.Point{X: left, Y: y}, Max: vg.Point{X: left + cell*vg.Length(r.node.GPUs), Y: y + barHeight}}
		dc.FillText(sty, vg.Point{X: left - nameGap, Y: y + barHeight/2 + textRise}, nodeLabel(r.node))
		f.drawBar(dc, r, bar, cell)
		f.drawPS(dc, r, right+nameGap, y+barHeight/2)
	}
	f.drawAxis(dc, left, right, top-vg.Length(f.perColumn())*barPitch, cell)
}

// nodeLabel names a node and what it has.
func nodeLabel(n data.Node) string {
	if n.GPUType == "" {
		return n.Name
	}
	return n.Name + " (" + n.GPUType + ")"
}

// drawBar draws the GPUs of one node: its shares from the left, then what is
// idle, with a gap between GPUs.
func (f *allocationFigure) drawBar(dc *draw.Canvas, r nodeRow, bar vg.Rectangle, cell vg.Length) {
	gap := min(cellGap, cell/5)
	box := func(from, to int) vg.Rectangle {
		return vg.Rectangle{
			Min: vg.Point{X: bar.Min.X + vg.Length(from)*cell + gap, Y: bar.Min.Y},
			Max: vg.Point{X: bar.Min.X + vg.Length(to)*cell - gap, Y: bar.Max.Y},
		}
	}
	at := 0
	for _, s := range r.shares {
		col := seriesColor(s.job)
		for k := range s.workers {
			fillRect(dc, col, box(at+k, at+k+1))
		}
		if s.workers > 0 {
			f.drawShareName(dc, s, box(at, at+s.workers))
		}
		at += s.workers
	}
	for k := at; k < r.node.GPUs; k++ {
		b := box(k, k+1)
		fillRect(dc, idleColor, b)
		if r.node.Drained {
			mid := vg.Point{X: (b.Min.X + b.Max.X) / 2, Y: (b.Min.Y + b.Max.Y) / 2}
			dc.DrawGlyphNoClip(draw.GlyphStyle{Color: axisColor, Radius: min(2.5, cell/3), Shape: crossGlyph{}}, mid)
		}
	}
}

// drawShareName writes the job's name into its share, whole or, if the name
// is too wide, as many letters as fit with an ellipsis; nothing if fewer
// than three do.
func (f *allocationFigure) drawShareName(dc *draw.Canvas, s share, box vg.Rectangle) {
	col := seriesColor(s.job)
	sty := keyStyle()
	sty.Color = textOn(col)
	sty.XAlign, sty.YAlign = draw.XCenter, draw.YCenter
	text := fitLabel(sty, f.names[s.job], box.Size().X-2*shareIndent)
	// A patch of the job's colour keeps the gaps between GPUs from
	// striking through the letters.
	mid := vg.Point{X: (box.Min.X + box.Max.X) / 2, Y: (box.Min.Y + box.Max.Y) / 2}
	half := sty.Width(text)/2 + 1
	if text != "" {
		fillRect(dc, col, vg.Rectangle{Min: vg.Point{X: mid.X - half, Y: box.Min.Y}, Max: vg.Point{X: mid.X + half, Y: box.Max.Y}})
	}
	mid.Y += textRise
	dc.FillText(sty, mid, text)
}

// fitLabel shortens a text to the width.
func fitLabel(sty draw.TextStyle, s string, width vg.Length) string {
	if sty.Width(s) <= width {
		return s
	}
	letters := []rune(s)
	for n := len(letters) - 1; n >= 3; n-- {
		if short := string(letters[:n]) + "…"; sty.Width(short) <= width {
			return short
		}
	}
	return ""
}

// drawPS lists the parameter servers of a node, which take no GPU, beside
// its bar.
func (f *allocationFigure) drawPS(dc *draw.Canvas, r nodeRow, x, y vg.Length) {
	sty := tickStyle()
	sty.YAlign = draw.YCenter
	for _, s := range r.shares {
		if s.ps == 0 {
			continue
		}
		dc.DrawGlyphNoClip(draw.GlyphStyle{Color: seriesColor(s.job), Radius: markRadius, Shape: diamondGlyph{}}, vg.Point{X: x + 3, Y: y})
		text := fmt.Sprintf("%d ps", s.ps)
		dc.FillText(sty, vg.Point{X: x + 10, Y: y + textRise}, text)
		x += 10 + sty.Width(text) + 8
	}
}

// drawAxis draws the GPU counts below a column.
func (f *allocationFigure) drawAxis(dc *draw.Canvas, left, right, y, cell vg.Length) {
	rule := draw.LineStyle{Color: axisColor, Width: thinWidth}
	dc.StrokeLine2(rule, left, y, left+cell*vg.Length(f.widest), y)
	sty := tickStyle()
	sty.XAlign = draw.XCenter
	want := int(math.Max(1, math.Min(8, float64((right-left)/25))))
	for _, t := range (linearTicks{want: want, whole: true}).Ticks(0, float64(f.widest)) {
		x := left + cell*vg.Length(t.Value)
		dc.StrokeLine2(rule, x, y, x, y-3)
		dc.FillText(sty, vg.Point{X: x, Y: y - 5}, t.Label)
	}
	label := axisStyle()
	label.XAlign = draw.XCenter
	dc.FillText(label, vg.Point{X: (left + right) / 2, Y: y - 17}, f.unit+" of the node")
}
