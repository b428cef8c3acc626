package plots

import (
	"cmp"
	"fmt"
	"image/color"
	"slices"

	"github.com/dustin/go-humanize/english"
	"gonum.org/v1/plot"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"

	"knee/data"
)

// mostNodes is how many nodes can be read in one figure.
const mostNodes = 400

// NewAllocation draws the GPUs of each job: a bar per node, a cell per GPU, a colour per
// job. It fails for a placement that the cluster cannot have, and more than 400 nodes.
func NewAllocation(title, subtitle string, cluster *data.Cluster, plan *data.Plan) (*Chart, error) {
	if cluster == nil || len(cluster.Nodes) == 0 {
		return nil, bad("cluster", "no nodes", "at least one node")
	}
	if plan == nil {
		return nil, bad("plan", "none", "a plan")
	}
	n := len(cluster.Nodes)
	if n > mostNodes {
		return nil, bad("cluster", fmt.Sprintf("%d nodes", n), fmt.Sprintf("at most %d nodes, the most that can be read in one figure", mostNodes))
	}
	used := map[string]int{}
	c := newChart(title, subtitle, "worker slots of the node", "")
	var names []plot.Tick
	row := map[string]int{}
	widest := 1
	for i, node := range cluster.Nodes {
		if _, twice := row[node.Name]; twice {
			return nil, bad(fmt.Sprintf("cluster.nodes[%d]", i), fmt.Sprintf("%q again", node.Name), "every node once")
		}
		row[node.Name] = i
		label := node.Name
		if node.GPUType != "" {
			label += " (" + node.GPUType + ")"
		}
		if node.GPUType != "cpu" {
			c.XLabel = "GPUs of the node"
		}
		names = append(names, plot.Tick{Value: float64(n - 1 - i), Label: label})
		widest = max(widest, node.GPUs)
	}
	servers := map[string]int{} // jobs with ps on a node
	most := 0
	for i, j := range plan.Jobs {
		for _, s := range j.Placement {
			at := fmt.Sprintf("plan.jobs[%s].placement", j.Name)
			k, ok := row[s.Node]
			if !ok {
				return nil, bad(at, fmt.Sprintf("node %q", s.Node), "a node of the cluster")
			}
			if s.Workers < 0 || s.PS < 0 {
				return nil, bad(at, fmt.Sprintf("%d workers and %d ps on %s", s.Workers, s.PS, s.Node), "counts ≥ 0")
			}
			from, to := used[s.Node], used[s.Node]+s.Workers
			if used[s.Node] = to; to > cluster.Nodes[k].GPUs {
				return nil, bad(at, fmt.Sprintf("%d workers on %s", to, s.Node), fmt.Sprintf("at most the %d GPUs it has", cluster.Nodes[k].GPUs))
			}
			cell := cells{row: n - 1 - k, from: from, to: to, servers: s.PS, beside: servers[s.Node], end: widest, job: j.Name, fill: seriesColor(i)}
			c.add(cell.draw)
			c.tooltips = append(c.tooltips, tooltip{float64(from+to) / 2, float64(cell.row), fmt.Sprintf("%s: %s of %s", s.Node, share(s.Workers, s.PS), j.Name)})
			if s.PS > 0 {
				servers[s.Node]++
				most = max(most, servers[s.Node])
			}
		}
	}
	// Servers stand beside the widest node, where nothing is counted.
	counts := plot.ConstantTicks(linearTicks{want: 8, whole: true}.Ticks(0, float64(widest)))
	extent{0, float64(widest)*(1+0.13*float64(most)) + 0.02}.set(&c.Plot.X, plot.LinearScale{}, counts)
	extent{-0.6, float64(n) - 0.4}.set(&c.Plot.Y, plot.LinearScale{}, plot.ConstantTicks(names))
	c.Plot.Y.Tick.Length = 0
	c.addFree(cluster, plan, used)
	if len(plan.Jobs) > mostShades {
		c.Subtitle = joinNamed([]string{c.Subtitle, fmt.Sprintf("%d jobs, several in each colour", len(plan.Jobs))})
	}
	// At 11 points a row has room for the name of its job.
	c.Height = max(11, min(20, 1500/vg.Length(n)))*vg.Length(n) + c.legend.height(c.Width-2*margin) + 3*vg.Centimeter
	return c, nil
}

// share writes what a job has on a node.
func share(workers, ps int) string {
	s := english.Plural(workers, "worker", "")
	if ps > 0 {
		s += fmt.Sprintf(" and %d ps", ps)
	}
	return s
}

// mostShades is how many jobs have distinct colours, see [seriesColor], and are listed.
const mostShades = 21

// addFree adds the GPUs without a job, and lists the jobs with what they get.
func (c *Chart) addFree(cluster *data.Cluster, plan *data.Plan, used map[string]int) {
	for i, j := range plan.Jobs {
		if len(plan.Jobs) > mostShades {
			break
		}
		label := fmt.Sprintf("%s, %d × %s", j.Name, j.Workers, cmp.Or(j.GPUType, "worker"))
		switch {
		case j.Action == data.Wait:
			label = j.Name + ", waits"
		case j.Workers == 0:
			label = j.Name + ", paused"
		case j.PS > 0:
			label += fmt.Sprintf(" + %d ps", j.PS)
		}
		c.explain(entry{label: label, fill: seriesColor(i)})
	}
	for i, node := range cluster.Nodes {
		free := cells{row: len(cluster.Nodes) - 1 - i, from: used[node.Name], to: node.GPUs, fill: idleColor, crossed: node.Drained}
		c.add(free.draw)
	}
	if slices.ContainsFunc(cluster.Nodes, func(n data.Node) bool { return !n.Drained && used[n.Name] < n.GPUs }) {
		c.explain(entry{label: "idle", fill: idleColor})
	}
	if slices.ContainsFunc(cluster.Nodes, func(n data.Node) bool { return n.Drained }) {
		c.explain(entry{label: "drained", fill: idleColor, glyph: draw.GlyphStyle{Color: axisColor, Radius: 2.5, Shape: crossGlyph{}}})
	}
}

// cells are GPUs of a node in the colour of their job, whose servers are named beside it.
type cells struct {
	row, from, to int
	servers, end  int
	beside        int // jobs whose servers are named before
	job           string
	fill          color.NRGBA
	crossed       bool
}

// box is where GPUs of the row go, a gap apart.
func (s cells) box(f *frame, from, to int) vg.Rectangle {
	cell := f.x(1) - f.x(0)
	gap, half := min(0.8, cell/5), 0.375*(f.y(1)-f.y(0))
	mid := f.y(float64(s.row))
	return vg.Rectangle{Min: vg.Point{X: f.x(float64(from)) + gap, Y: mid - half}, Max: vg.Point{X: f.x(float64(to)) - gap, Y: mid + half}}
}

func (s cells) draw(f *frame) {
	for k := s.from; k < s.to; k++ {
		b := s.box(f, k, k+1)
		fillRect(&f.Canvas, s.fill, b)
		if s.crossed {
			f.DrawGlyphNoClip(draw.GlyphStyle{Color: axisColor, Radius: min(2.5, b.Size().X/3), Shape: crossGlyph{}}, middle(b))
		}
	}
	sty := keyStyle()
	sty.XAlign, sty.YAlign = draw.XCenter, draw.YCenter
	if b := s.box(f, s.from, s.to); s.job != "" && b.Size().Y > 8 {
		sty.Color = textOn(s.fill)
		text, at := fitLabel(sty, s.job, b.Size().X-6), middle(b)
		// The job's colour behind the letters hides the gaps between GPUs.
		if half := sty.Width(text)/2 + 1; text != "" {
			fillRect(&f.Canvas, s.fill, vg.Rectangle{Min: vg.Point{X: at.X - half, Y: b.Min.Y}, Max: vg.Point{X: at.X + half, Y: b.Max.Y}})
		}
		f.FillText(sty, at.Add(vg.Point{Y: textRise}), text)
	}
	if s.servers > 0 {
		sty = tickStyle()
		sty.YAlign = draw.YCenter
		at := vg.Point{X: f.x(float64(s.end)) + 6 + 42*vg.Length(s.beside), Y: f.y(float64(s.row))}
		f.DrawGlyphNoClip(draw.GlyphStyle{Color: s.fill, Radius: markRadius, Shape: diamondGlyph{}}, at)
		f.FillText(sty, at.Add(vg.Point{X: 7, Y: textRise}), fmt.Sprintf("%d ps", s.servers))
	}
}

func middle(r vg.Rectangle) vg.Point {
	return vg.Point{X: (r.Min.X + r.Max.X) / 2, Y: (r.Min.Y + r.Max.Y) / 2}
}

// fitLabel shortens a text to the width, in its middle, as names of jobs often differ
// at their ends; nothing of it if fewer than three letters fit.
func fitLabel(sty draw.TextStyle, s string, width vg.Length) string {
	if sty.Width(s) <= width {
		return s
	}
	letters := []rune(s)
	for n := len(letters) - 1; n >= 3; n-- {
		if short := string(letters[:(n+1)/2]) + "…" + string(letters[len(letters)-n/2:]); sty.Width(short) <= width {
			return short
		}
	}
	return ""
}
