package convergence

import (
	"fmt"
	"math"
	"slices"

	"knee/data"
	"knee/internal/quantile"
)

// Template is a finished run of the same job, at another batch size, that a
// running one is compared with. Its losses are in the terms of the run it
// serves, so that the two can be laid over each other.
type Template struct {
	Recorded []Point `json:"recorded"` // at most 128 stretches, in order of x
}

const (
	// minTemplate is the fewest points of a finished run worth comparing with.
	minTemplate = 4
	// templateNodes is how many paces, stretches and ends are tried each.
	templateNodes = 9
)

// laid is a finished run laid over a record at some pace, as a shape: 1 where
// it begins, 0 where it ends, linear between its points.
type laid struct {
	x, y  []float64
	noise []float64 // sd around y thereabouts: it falls as training settles
	pace  float64
}

func (l laid) at(x float64) float64 {
	x /= l.pace
	i, _ := slices.BinarySearch(l.x, x)
	switch {
	case i == 0:
		return l.y[0]
	case i == len(l.x):
		return 0
	}
	u := (x - l.x[i-1]) / (l.x[i] - l.x[i-1])
	return l.y[i-1] + u*(l.y[i]-l.y[i-1])
}

// noiseAt returns the noise around the shape.
func (l laid) noiseAt(x float64) float64 {
	i, _ := slices.BinarySearch(l.x, x/l.pace)
	return l.noise[min(i, len(l.x)-1)]
}

// course returns the run's smooth course as a shape, what it ends at (the mean
// of its last tenth) and how far above that it begins. A running median keeps
// the edges of learning-rate cuts.
func (t Template) course() (g laid, end, span float64) {
	n := len(t.Recorded)
	g.pace = 1
	for i, p := range t.Recorded {
		side := min(2, i, n-1-i)
		g.x, g.y = append(g.x, p.X), append(g.y, medianLoss(t.Recorded[i-side:i+side+1]))
	}
	tail := g.y[n-max(n/10, 1):]
	for _, l := range tail {
		end += l / float64(len(tail))
	}
	span = math.Max(g.y[0]-end, 1e-9)
	for i := range g.y {
		var ss float64
		near := t.Recorded[max(0, i-5):min(n, i+6)]
		for k, p := range near {
			d := p.Loss - g.y[max(0, i-5)+k]
			ss += d * d / float64(len(near))
		}
		g.noise = append(g.noise, math.Sqrt(ss)/span)
	}
	for i := range g.y {
		g.y[i] = (g.y[i] - end) / span
	}
	return g, end, span
}

// layTemplates adds the ways to lay finished runs over the record:
//
//	f(x) = end + o + s·(z(x/τ) − end)
//
// with pace τ and stretch s log-normal and offset o normal around the finished
// run's own.
func (p *posterior) layTemplates(templates []Template) {
	z := standardNodes()
	offset := p.endSpread(templates)
	for _, t := range templates {
		g, end, span := t.course()
		for _, pace := range z {
			var limits, amplitudes []node
			for _, u := range z {
				limits = append(limits, node{end + offset*u.value, u.log + pace.log})
				amplitudes = append(amplitudes, node{span * math.Exp(p.known.StretchSD*u.value), u.log})
			}
			g.pace = math.Exp(p.known.PaceSD * pace.value)
			p.shapes = append(p.shapes, g)
			p.weigh(len(p.shapes)-1, limits, amplitudes)
		}
	}
}

// endSpread returns the sd of where runs of the job end: of the templates'
// own ends, with what is believed beforehand counting as one more run.
func (p *posterior) endSpread(templates []Template) float64 {
	var mean, widest float64
	n := float64(len(templates))
	for _, t := range templates {
		_, end, span := t.course()
		mean += end / n
		widest = math.Max(widest, span)
	}
	ss := math.Pow(p.known.EndSD*widest, 2)
	for _, t := range templates {
		_, end, _ := t.course()
		ss += (end - mean) * (end - mean)
	}
	return math.Sqrt(ss / n)
}

// standardNodes spreads a standard normal over two deviations either side.
func standardNodes() []node {
	out := make([]node, templateNodes)
	for i := range out {
		z := 4*float64(i)/(templateNodes-1) - 2
		out[i] = node{z, -z * z / 2}
	}
	return out
}

// templateHits returns the log-normal of when the templates first hit a
// target, in steps: its median and the sd of its logarithm, the spread between
// runs of one job counting as one more run. A template that never does counts
// as hitting it just after it ended.
func (c *Curve) templateHits(target float64) (median, sd float64) {
	var logs []float64
	for _, t := range c.Templates {
		n := len(t.Recorded)
		x := t.Recorded[n-1].X * float64(n+1) / float64(n)
		if i := slices.IndexFunc(t.Recorded, func(p Point) bool { return p.Loss <= target }); i >= 0 {
			x = t.Recorded[i].X
		}
		logs = append(logs, math.Log(math.Max(x, math.SmallestNonzeroFloat64)))
	}
	mid := quantile.Median(logs)
	ss := math.Pow(c.beliefs().HitSD, 2)
	for _, l := range logs {
		ss += (l - mid) * (l - mid)
	}
	return math.Exp(mid), math.Sqrt(ss / float64(len(logs)))
}

// newTemplates turns finished runs into templates in the terms of c: the same
// ordinate, turned falling the same way and divided by the same scale.
func (c *Curve) newTemplates(runs [][]data.CurvePoint, pick curvePicker) ([]Template, error) {
	var out []Template
	for i, run := range runs {
		var xs, ls []float64
		for _, p := range run {
			x, y := pick.x(p), pick.y(p)
			if finite(x) && finite(y) && x >= 0 {
				xs, ls = append(xs, x), append(ls, c.toLoss(y))
			}
		}
		if len(xs) < minTemplate || !(slices.Max(xs) > 0) {
			return nil, &data.InputError{Source: data.Source{Column: fmt.Sprintf("template %d", i+1)},
				Found: fmt.Sprintf("%d usable curve points", len(xs)),
				Want:  fmt.Sprintf("a finished run of at least %d points, with the same x and the same loss or metric as the run itself", minTemplate)}
		}
		xs, ls = inOrder(xs, ls)
		out = append(out, Template{stretches(xs, Hampel(ls))})
	}
	return out, nil
}
