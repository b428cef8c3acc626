package convergence

import (
	"math"
	"slices"

	"knee/data"
	"knee/internal/quantile"
)

// Template is a finished run of the same job, at another batch size, that a
// running one is compared with. Its losses are in the terms of the run it
// serves, so that the two can be laid over each other.
type Template struct {
	Recorded []SeenPoint `json:"recorded"` // at most 128 stretches, in order of x
	end      float64     // mean loss over its last tenth
	smooth   []float64   // its smooth course at the recorded points
	noise    []float64   // sd around it thereabouts: it falls as training settles
}

// How much the templates' course and their own first hits are believed.
const (
	templatePower = .6
	hitsPower     = .6
)

// Prior spreads of a run relative to a finished one of the same job in equal
// units of progress: of the logarithm of its pace, of the logarithm of its
// distance from the end, and of where it ends relative to the range.
const (
	paceSD    = .1
	stretchSD = .15
	offsetSD  = .01
	// noiseSide is the number of points either side that noise is taken over.
	noiseSide = 5
	// hitSpreadSD is the spread of first hits between runs of one job,
	// worth one run when it is estimated from several.
	hitSpreadSD = .2
)

// hitsOf foresees a target from the templates' courses laid over the record,
// pooled with the templates' own first hits.
func (c *Curve) hitsOf(target float64) *outlook {
	end := c.LastX
	for _, t := range c.Templates {
		end = math.Max(end, t.Recorded[len(t.Recorded)-1].X)
	}
	o := &outlook{hits: newFuture(c.LastX, c.lookEvery(), 4*math.Max(end, c.Planned))}
	var templates []Template
	o.paths, templates = c.templatePaths(o.hits.x)
	above, later := o.addPaths(target)
	reached := o.hits.total()
	median, sd, hits := templateHits(templates, target)
	if reached == 0 {
		return o
	}
	o.chance = reached / (reached + above + later)
	// Each run that got there speaks for one more that will; one that did not
	// has had its say through its course.
	o.chance = (o.chance + float64(hits)) / float64(1+hits)
	o.pool(templatePower, func(x float64) float64 { return logNormal(x, median, sd) }, hitsPower)
	return o
}

// templatePaths returns the posterior over ways to lay the templates over
// the record, ready for a grid of first hits (nil for none), and the
// templates as prepared for it.
func (c *Curve) templatePaths(grid []float64) ([]path, []Template) {
	templates := make([]Template, len(c.Templates))
	for i, t := range c.Templates {
		templates[i] = t.prepared()
	}
	sums := newReachSums(c.Recorded, 0)
	offset := endSpread(templates)
	var all []templateCell
	for i := range templates {
		all = append(all, templates[i].cells(c.Recorded, &sums, offset)...)
	}
	top := math.Inf(-1)
	for _, cell := range all {
		top = math.Max(top, cell.log)
	}
	var ps []path
	for _, cell := range all {
		if w := math.Exp(cell.log - top); w >= negligible {
			ps = append(ps, path{weight: w, at: cell.at, limit: cell.t.end + cell.offset,
				cell: func(j int) (float64, float64) { return cell.at(grid[j]) }})
		}
	}
	return ps, templates
}

// prepared returns the template with what is derived from its record.
func (t Template) prepared() Template {
	n := len(t.Recorded)
	t.smooth = make([]float64, n)
	t.noise = make([]float64, n)
	for i := range t.Recorded {
		// A running median keeps the edges of learning-rate drops.
		side := min(2, i, n-1-i)
		t.smooth[i] = medianLoss(t.Recorded[i-side : i+side+1])
	}
	for i := range t.noise {
		lo, hi := max(0, i-noiseSide), min(n, i+noiseSide+1)
		var ss float64
		for k := lo; k < hi; k++ {
			d := t.Recorded[k].Loss - t.smooth[k]
			ss += d * d
		}
		t.noise[i] = math.Sqrt(ss / float64(hi-lo))
	}
	tail := t.smooth[n-max(n/10, 1):]
	for _, l := range tail {
		t.end += l / float64(len(tail))
	}
	return t
}

// at returns the smooth course after x steps and the noise around it, linear
// in between, level before and after.
func (t *Template) at(x float64) (loss, noise float64) {
	i, _ := slices.BinarySearchFunc(t.Recorded, x, func(p SeenPoint, x float64) int {
		if p.X < x {
			return -1
		}
		return 1
	})
	switch {
	case i == 0:
		return t.smooth[0], t.noise[0]
	case i == len(t.Recorded):
		return t.end, t.noise[i-1]
	}
	a, b := t.Recorded[i-1].X, t.Recorded[i].X
	u := (x - a) / (b - a)
	return t.smooth[i-1] + u*(t.smooth[i]-t.smooth[i-1]), t.noise[i]
}

// templateCell is one way to lay a template over the record:
//
//	f(x) = z∞ + s·(z̃(x/τ) − z∞) + o
type templateCell struct {
	t             *Template
	pace, stretch float64 // τ and s
	offset        float64 // o
	log           float64
}

func (c *templateCell) at(x float64) (loss, noise float64) {
	l, noise := c.t.at(x / c.pace)
	return c.t.end + c.stretch*(l-c.t.end) + c.offset, c.stretch * noise
}

// cells returns the ways to lay the template over the record, with their log
// posteriors, on a grid of two prior deviations either side.
func (t *Template) cells(points []SeenPoint, sums *reachSums, offset float64) []templateCell {
	low, high := slices.Min(t.smooth), slices.Max(t.smooth)
	span := math.Max(high-low, 1e-9)
	count := .1*float64(len(points)) + 2
	var all []templateCell
	const side = 4 // grid points either side of the middle
	for i := -side; i <= side; i++ {
		u := 2 * float64(i) / side
		base := make([]float64, len(points))
		for k, p := range points {
			l, _ := t.at(p.X / math.Exp(u*paceSD))
			base[k] = l - t.end
		}
		for j := -side; j <= side; j++ {
			v := 2 * float64(j) / side
			stretch := math.Exp(v * stretchSD)
			var mean, square float64 // of the record minus the course
			for k, p := range points {
				d := p.Loss - t.end - stretch*base[k]
				mean += sums.w[k] * d
				square += sums.w[k] * d * d
			}
			for l := -side; l <= side; l++ {
				w := 2 * float64(l) / side
				o := w * offset
				rss := math.Max(square-2*o*mean+o*o, 0)
				all = append(all, templateCell{
					t: t, pace: math.Exp(u * paceSD), stretch: stretch, offset: o,
					log: math.Log(temper(rss, span, count)) - .5*(u*u+v*v+w*w),
				})
			}
		}
	}
	return all
}

// endSpread returns the sd of where runs of the job end: of the templates'
// own ends, with the prior counting as one more run.
func endSpread(templates []Template) float64 {
	var mean, span float64
	n := float64(len(templates))
	for _, t := range templates {
		mean += t.end / n
		span = math.Max(span, slices.Max(t.smooth)-slices.Min(t.smooth))
	}
	ss := math.Pow(offsetSD*math.Max(span, 1e-9), 2)
	for _, t := range templates {
		ss += (t.end - mean) * (t.end - mean)
	}
	return math.Sqrt(ss / n)
}

// templateHits returns the log-normal of when the templates first hit a
// target, in steps, and how many did. One that never does counts as hitting
// it just after it ended.
func templateHits(templates []Template, target float64) (median, sd float64, hits int) {
	var logs []float64
	for _, t := range templates {
		x := t.Recorded[len(t.Recorded)-1].X * 1.1
		if i := slices.IndexFunc(t.Recorded, func(p SeenPoint) bool { return p.Loss <= target }); i >= 0 {
			x = t.Recorded[i].X
			hits++
		}
		logs = append(logs, math.Log(math.Max(x, math.SmallestNonzeroFloat64)))
	}
	mid := quantile.Median(logs)
	ss := hitSpreadSD * hitSpreadSD
	for _, l := range logs {
		ss += (l - mid) * (l - mid)
	}
	return math.Exp(mid), math.Sqrt(ss / float64(len(logs))), hits
}

// logNormal is the density, unnormalised, of a log-normal quantity.
func logNormal(x, median, sd float64) float64 {
	z := math.Log(x/median) / sd
	return math.Exp(-.5*z*z) / x
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
			return nil, templateError(i, len(xs))
		}
		order := ascending(xs)
		sorted := make([]float64, len(ls))
		for k, j := range order {
			sorted[k] = ls[j]
		}
		slices.Sort(xs)
		out = append(out, Template{Recorded: stretches(xs, Hampel(sorted), mostRecorded)})
	}
	return out, nil
}
