package fit

import (
	"math"

	"knee/data"
	"knee/internal/quantile"
)

// reachCells are the ways a curve may go on: where each gets to the target
// and what it weighs.
type reachCells struct {
	steps, weights []float64
	unreachable    float64 // weight of the curves that level off above the target
}

// reach spreads a posterior over curves f = c + a·g(x), g a shifted power
// law or a stretched exponential, on a grid of shapes and limits c, with a
// by weighted least squares. A single best fit is no basis for an answer:
// early in a run, curves that end far apart fit equally well, and the best
// of them is mostly chance.
//
// Limits below the target are weighed by how far below it they are: people
// ask for targets near what their training reaches, so gaps around a
// twentieth of the way are likely, gaps of a thousandth or a half are not.
// Where the target is reached is weighed by nearly 1/steps, as one knows
// nothing about its scale. Limits above the target make up the chance that it
// is never reached.
func (c *Convergence) reach(target float64) reachCells {
	var r reachCells
	s := newReachSums(c)
	span := math.Max(s.first-target, s.span)
	for _, g := range reachShapes(c.LastX) {
		sums := s.project(g)
		for i := range reachGaps {
			u := float64(i) / (reachGaps - 1)
			gap := span * .003 * math.Pow(200, u) // .003 to .6
			z := (math.Log(gap/span) - math.Log(.05)) / .8
			if w, a, noise := sums.weigh(target - gap); a > 0 {
				x := math.Max(g.inverse((gap+.5*noise)/a), c.LastX)
				if math.IsInf(x, 0) || x > 1e6*c.LastX {
					continue
				}
				r.steps = append(r.steps, x)
				r.weights = append(r.weights, w*math.Exp(-.5*z*z)*math.Pow(x/c.LastX, -.8))
			}
			// Limits between the target and the lowest point of the curve.
			if above := target + u*(s.low-target); above < s.low {
				if w, a, _ := sums.weigh(above); a > 0 {
					r.unreachable += w * reachNeverPrior
				}
			}
		}
	}
	return r
}

const (
	// reachGaps is the number of limits tried below the target.
	reachGaps = 24
	// reachNeverPrior makes the two kinds of limits comparable: it is about
	// the mean of the weights that those below the target get beforehand.
	reachNeverPrior = .03
)

// estimate returns the median with its 90 % interval, and the chance that
// the target is reached at all.
func (r reachCells) estimate() (data.Estimate, float64) {
	var total float64
	for _, w := range r.weights {
		total += w
	}
	if total == 0 {
		return data.Estimate{}, 0
	}
	return data.Estimate{
		Mean: quantile.Weighted(r.steps, r.weights, .5),
		Lo:   quantile.Weighted(r.steps, r.weights, .05),
		Hi:   quantile.Weighted(r.steps, r.weights, .95),
	}, total / (total + r.unreachable)
}

// reachShape is a falling curve from about 1 to 0 at infinity.
type reachShape struct {
	power        bool
	shape, scale float64 // exponent, and steps
}

func (g reachShape) at(x float64) float64 {
	if g.power {
		return math.Pow(1+x/g.scale, -g.shape)
	}
	return math.Exp(-math.Pow(x/g.scale, g.shape))
}

// inverse returns where the curve falls to v.
func (g reachShape) inverse(v float64) float64 {
	if v >= 1 {
		return 0
	}
	if g.power {
		return g.scale * (math.Pow(v, -1/g.shape) - 1)
	}
	return g.scale * math.Pow(-math.Log(v), 1/g.shape)
}

// reachShapes is the grid, in proportion to the steps seen.
func reachShapes(seen float64) []reachShape {
	var gs []reachShape
	for i := range 12 {
		alpha := .15 * math.Pow(20, float64(i)/11) // .15 to 3
		for _, x0 := range []float64{.02, .07, .2, .6, 1.5, 4} {
			gs = append(gs, reachShape{true, alpha, x0 * seen})
		}
	}
	for i := range 10 {
		tau := .3 * math.Pow(50, float64(i)/9) // .3 to 15
		for j := range 7 {
			gs = append(gs, reachShape{false, .25 * math.Pow(8.8, float64(j)/6), tau * seen})
		}
	}
	return gs
}

// reachSums holds what the fits of all shapes share.
type reachSums struct {
	points           []SeenPoint
	w                []float64 // √(x/last): later points say more about the future
	first, low, span float64
	count            float64 // tempered number of points
	sw, sz, szz      float64
	sg, sgz, sgg     float64 // of one shape
}

func newReachSums(c *Convergence) *reachSums {
	s := &reachSums{points: c.Recorded, count: .1*float64(c.Points) + 2, low: math.Inf(1)}
	high := math.Inf(-1)
	var weight float64
	for _, p := range c.Recorded {
		w := math.Sqrt(math.Max(p.X/c.LastX, 1e-3))
		s.w = append(s.w, w)
		weight += w
		s.low, high = math.Min(s.low, p.Loss), math.Max(high, p.Loss)
	}
	for i, p := range c.Recorded {
		s.w[i] /= weight
		s.sw += s.w[i]
		s.sz += s.w[i] * p.Loss
		s.szz += s.w[i] * p.Loss * p.Loss
	}
	s.span = math.Max(high-s.low, 1e-9)
	if len(c.Recorded) > 0 {
		s.first = c.Recorded[0].Loss
	}
	return s
}

// project returns the sums of one shape.
func (s *reachSums) project(g reachShape) reachSums {
	out := *s
	out.sg, out.sgz, out.sgg = 0, 0, 0
	for i, p := range s.points {
		v := g.at(p.X)
		out.sg += s.w[i] * v
		out.sgz += s.w[i] * v * p.Loss
		out.sgg += s.w[i] * v * v
	}
	return out
}

// weigh fits the amplitude for a limit and returns the tempered likelihood,
// the amplitude and the sd around the curve.
func (s *reachSums) weigh(limit float64) (weight, amplitude, noise float64) {
	if s.sgg <= 0 {
		return 0, 0, 0
	}
	sgr := s.sgz - limit*s.sg
	amplitude = sgr / s.sgg
	rss := math.Max(s.szz-2*limit*s.sz+limit*limit*s.sw-amplitude*sgr, 0)
	floor := 2 * math.Pow(.02*s.span, 2)
	return math.Pow((rss+floor)/floor, -.5*s.count), amplitude, math.Sqrt(rss)
}
