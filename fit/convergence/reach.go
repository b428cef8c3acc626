package convergence

import "math"

// curveCell is one way in which a curve may go on: f = limit + amplitude·g.
type curveCell struct {
	shape            int
	drops            int // learning-rate drops it counts on before the target
	limit, amplitude float64
	noise            float64 // sd of the record around it
	weight           float64
	below            bool // the limit is below the target
}

// reach spreads a posterior over curves f = c + a·g(x), g a shifted power
// law or a stretched exponential, on a grid of shapes and limits c, with a
// by weighted least squares, and adds up where each first hits the target.
// A single best fit is no basis for an answer: early in a run, curves that
// end far apart fit equally well, and the best of them is mostly chance.
//
// Limits below the target are weighed by how far below it they are: people
// ask for targets near what their training reaches, so gaps around a
// twentieth of the way are likely, gaps of a thousandth or a half are not.
// Limits above the target make up the chance that it is never reached. The
// first hits are multiplied with the horizon, which knows nothing of the curve
// and serves as their prior.
func (c *Curve) reach(target float64) *outlook {
	seg := c.lastSegment()
	h := horizon{last: c.LastX, planned: c.Planned}
	o := &outlook{hits: newFuture(c.LastX, c.lookEvery(), h.end())}
	o.paths = seg.paths(target, c.shapes(seg), o.hits.x)
	above, _ := o.addPaths(target)
	reached := o.hits.total()
	if reached == 0 || diverges(c.Recorded) {
		return o
	}
	o.pool(1, h.density, 1)
	// Curves that get there after the grid ends do get there, only that the
	// horizon does not believe them: they say nothing for or against.
	o.chance = reached / (reached + above)
	return o
}

// shapes returns the shapes that a stretch of the record may have.
func (c *Curve) shapes(seg *segment) []curveShape {
	seen := c.LastX - seg.start
	return curveShapes(int(float64(c.Points)*seen/c.LastX), seen, c.Planned-seg.start)
}

// paths returns the posterior over curves for a target, ready for a grid of
// first hits (nil for none).
func (s *segment) paths(target float64, shapes []curveShape, grid []float64) []path {
	final := math.Pow(s.ratio, float64(len(s.later)))
	ratios := make([]float64, len(grid))
	for j, x := range grid {
		ratios[j] = s.ratioAt(x)
	}
	values := make([][]float64, len(shapes))
	var ps []path
	for _, cell := range s.cells(target, shapes) {
		g, shape := values[cell.shape], shapes[cell.shape]
		if g == nil {
			g = make([]float64, len(grid))
			for j, x := range grid {
				g[j] = shape.at(x - s.start)
			}
			values[cell.shape] = g
		}
		ps = append(ps, path{
			weight: cell.weight,
			limit:  cell.limit * final,
			above:  !cell.below,
			at: func(x float64) (float64, float64) {
				return (cell.limit + cell.amplitude*shape.at(x-s.start)) * s.ratioAt(x), cell.noise
			},
			cell: func(j int) (float64, float64) {
				return (cell.limit + cell.amplitude*g[j]) * ratios[j], cell.noise
			},
		})
	}
	return ps
}

// diverges says whether a record rises: curves that fall by ever so little
// would fit it as badly as any, and each gets to the target some day.
func diverges(points []SeenPoint) bool {
	third := max(len(points)/3, 1)
	return medianLoss(points[len(points)-third:]) > medianLoss(points[:third])
}

const (
	// gapCells is the number of limits tried below the target, and as many
	// above it.
	gapCells = 24
	gapMean  = .05 // median of the gap between target and limit, of the way down
	gapSD    = .8  // of its logarithm
	// neverPrior is the weight of limits above the target beforehand: one
	// target in ten that people ask for is out of reach.
	neverPrior = .1
	// startSD is by how much of the range seen a curve may plausibly begin
	// above the first point of the record: training starts from a loss that
	// is finite and not far away, which rules out the steepest curves. One was
	// the first value tried; with .3 recorded runs were foreseen less well.
	startSD = 1
	// mostEvidence is the number of points that a record is worth at most.
	// More of them make noise smaller but not what all curves get wrong,
	// and no record that the tempering was tried on had more.
	mostEvidence = 40
	// negligible is the weight, relative to the largest, below which a cell
	// cannot move a quantile.
	negligible = 1e-5
)

// cells returns the posterior over curves for a target.
func (s *segment) cells(target float64, shapes []curveShape) []curveCell {
	span := math.Max(s.first-target, s.span)
	var all []curveCell
	var top float64
	add := func(c curveCell, sums *reachSums, prior float64) {
		if w, a, noise := sums.weigh(c.limit); a > 0 {
			// Both kinds of shape are 1 where the stretch begins.
			over := math.Max(c.limit+a-s.first, 0) / (startSD * s.span)
			c.weight, c.amplitude, c.noise = w*prior*math.Exp(-.5*over*over), a, noise
			top = math.Max(top, c.weight)
			all = append(all, c)
		}
	}
	gaps, priors := gapPriors()
	for i, g := range shapes {
		sums := s.project(g, s.start)
		for j := range gapCells {
			u := float64(j) / (gapCells - 1)
			gap := span * gaps[j]
			// With later drops known, the limit may lie before any of them.
			for d := range len(s.later) + 1 {
				limit := (target - gap) / math.Pow(s.ratio, float64(d))
				add(curveCell{shape: i, drops: d, limit: limit, below: true}, &sums,
					(1-neverPrior)*priors[j]/float64(len(s.later)+1))
			}
			// After the last drop everything is lower by all ratios to come.
			final := math.Pow(s.ratio, float64(len(s.later)))
			if above := target/final + u*(s.low-target/final); target < final*s.low && above < s.low {
				add(curveCell{shape: i, limit: above}, &sums, neverPrior/gapCells)
			}
		}
	}
	kept := all[:0]
	for _, c := range all {
		if c.weight >= negligible*top {
			kept = append(kept, c)
		}
	}
	return kept
}

// gapPriors returns the gaps between target and limit that are tried, of the
// way down, with their prior weights, which sum to 1.
func gapPriors() (gaps, priors [gapCells]float64) {
	var total float64
	for j := range gaps {
		gaps[j] = .003 * math.Pow(200, float64(j)/(gapCells-1)) // .003 to .6
		z := math.Log(gaps[j]/gapMean) / gapSD
		priors[j] = math.Exp(-.5 * z * z)
		total += priors[j]
	}
	for j := range priors {
		priors[j] /= total
	}
	return gaps, priors
}

// reachSums holds what the fits of all shapes to a stretch of the record
// share.
type reachSums struct {
	points           []SeenPoint
	w                []float64 // ∝ √(rank): later points say more about the future
	first, low, span float64
	count            float64 // tempered number of points
	worth            float64 // points the record is worth: they count by √(rank/points)
	sw, sz, szz      float64
	sg, sgz, sgg     float64 // of one shape
}

// newReachSums sums up points; span is the range of the whole record.
func newReachSums(points []SeenPoint, span float64) reachSums {
	worth := math.Min(float64(len(points)), mostEvidence)
	s := reachSums{points: points, count: .1*worth + 2, low: math.Inf(1), span: span}
	var weight float64
	for i, p := range points {
		w := math.Sqrt(float64(i + 1))
		s.w = append(s.w, w)
		weight += w
		s.low = math.Min(s.low, p.Loss)
	}
	s.worth = worth * weight / math.Pow(math.Max(float64(len(points)), 1), 1.5)
	for i, p := range points {
		s.w[i] /= weight
		s.sw += s.w[i]
		s.sz += s.w[i] * p.Loss
		s.szz += s.w[i] * p.Loss * p.Loss
	}
	if len(points) > 0 {
		s.first = points[0].Loss
	}
	return s
}

// project returns the sums of one shape that starts at x = start.
func (s *reachSums) project(g curveShape, start float64) reachSums {
	out := *s
	out.sg, out.sgz, out.sgg = 0, 0, 0
	for i, p := range s.points {
		v := g.at(p.X - start)
		out.sg += s.w[i] * v
		out.sgz += s.w[i] * v * p.Loss
		out.sgg += s.w[i] * v * v
	}
	return out
}

// weigh fits the amplitude for a limit and returns the tempered likelihood,
// the amplitude and the sd around the curve.
//
// The likelihood counts a tenth of the points plus two, and forgives a
// fiftieth of the range: neighbouring points of a training curve are far
// from independent, no curve is exactly of the form, and counting them all
// makes intervals that are wrong most of the time.
func (s *reachSums) weigh(limit float64) (weight, amplitude, noise float64) {
	if !(s.sgg > 0) {
		return 0, 0, 0
	}
	sgr := s.sgz - limit*s.sg
	amplitude = sgr / s.sgg
	rss := math.Max(s.szz-2*limit*s.sz+limit*limit*s.sw-amplitude*sgr, 0)
	return temper(s.worth*rss, s.span, s.count), amplitude, math.Sqrt(rss)
}

// temper turns a weighted mean of squared errors into a likelihood relative
// to that of a perfect fit.
func temper(rss, span, count float64) float64 {
	floor := 2 * math.Pow(.02*span, 2)
	return math.Pow((rss+floor)/floor, -.5*count)
}
