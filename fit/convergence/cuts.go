package convergence

import (
	"math"
	"slices"

	"gonum.org/v1/gonum/stat"
	"gonum.org/v1/gonum/stat/distuv"
)

const (
	// cutWindow is the number of points compared on either side of a cut.
	cutWindow = 10
	// minSegment is the fewest points after a cut that are worth a fit: a line
	// and one to contradict it.
	minSegment = 3
)

// segment is the stretch of a record since its last known cut of the learning
// rate, and what is known about the cuts to come.
type segment struct {
	points []Point
	start  float64   // steps at which it begins, 0 for a record without cuts
	later  []float64 // milestones after the record, steps
	ratio  float64   // loss after a cut relative to before, 1 if none was seen
}

// ratioAt returns what the cuts between the record and x multiply the loss by.
func (s *segment) ratioAt(x float64) float64 {
	r := 1.0
	for _, m := range s.later {
		if m < x {
			r *= s.ratio
		}
	}
	return r
}

// lastSegment cuts the record at the last milestone it covers, as a curve
// through a cut fits neither side of it. Where milestones are not known the
// record stays whole, even if a drop is plain to see: more of them are then
// likely to come, and a curve through the first foresees them better than one
// that believes that there is only the last level left.
//
// Once a cut was seen at a milestone, its ratio is expected of the later
// ones too. Before the first, nothing is known about what cuts do to this
// job, and they are left out.
func (c *Curve) lastSegment() segment {
	s := segment{points: c.Recorded, ratio: 1}
	cut := 0
	for _, m := range c.Milestones {
		i := slices.IndexFunc(c.Recorded, func(p Point) bool { return p.X > m })
		if i >= minSegment && len(c.Recorded)-i >= minSegment {
			cut = i
		}
	}
	if cut == 0 {
		return s
	}
	s.points, s.start = c.Recorded[cut:], c.Recorded[cut-1].X
	before := medianLoss(c.Recorded[max(0, cut-cutWindow):cut])
	after := medianLoss(s.points[:min(len(s.points), cutWindow)])
	if before > 0 && after > 0 {
		s.ratio = math.Min(after/before, 1)
	}
	for _, m := range c.Milestones {
		if m > c.LastX {
			s.later = append(s.later, m)
		}
	}
	return s
}

// Cuts returns the steps after which the recorded curve drops abruptly, as it
// does when the learning rate is cut.
//
// At each point a line through up to ten points before is compared with one
// through up to ten points after: a cut is where the second begins lower by
// more than noise does once in a hundred records (Student's test of the
// difference, Bonferroni's correction for the number of points). The bend of a
// smooth curve is no cut, as it puts the first line below the second.
// Of neighbours the surest is returned.
func (c *Curve) Cuts() []float64 {
	var cuts []float64
	var at int
	var best float64
	for i := minSegment; i+minSegment <= len(c.Recorded); i++ {
		p := dropChance(c.Recorded[max(0, i-cutWindow):i], c.Recorded[i:min(len(c.Recorded), i+cutWindow)])
		if 100*p*float64(len(c.Recorded)) > 1 {
			continue
		}
		near := len(cuts) > 0 && i-at < cutWindow
		switch {
		case !near:
			cuts = append(cuts, c.Recorded[i-1].X)
		case p < best:
			cuts[len(cuts)-1] = c.Recorded[i-1].X
		default:
			continue
		}
		at, best = i, p
	}
	return cuts
}

// dropChance returns how likely noise alone makes the lines through two
// neighbouring stretches differ by as much as they do where they meet.
func dropChance(before, after []Point) float64 {
	x := (before[len(before)-1].X + after[0].X) / 2
	l0, v0, ss0 := lineAt(before, x)
	l1, v1, ss1 := lineAt(after, x)
	df := float64(len(before) + len(after) - 4)
	sd := math.Sqrt((ss0 + ss1) / df * (v0 + v1))
	if !(l0-l1 > 0) || !(sd > 0) {
		return 1
	}
	return distuv.StudentsT{Mu: 0, Sigma: 1, Nu: df}.Survival((l0 - l1) / sd)
}

// lineAt fits a line and returns its value at x, the variance of that
// relative to the noise's, and the sum of squared residuals.
func lineAt(points []Point, x float64) (value, variance, rss float64) {
	var xs, ls []float64
	for _, p := range points {
		xs, ls = append(xs, p.X), append(ls, p.Loss)
	}
	a, b := stat.LinearRegression(xs, ls, nil, false)
	mean := stat.Mean(xs, nil)
	var sxx float64
	for i := range xs {
		sxx += (xs[i] - mean) * (xs[i] - mean)
		rss += (ls[i] - a - b*xs[i]) * (ls[i] - a - b*xs[i])
	}
	return a + b*x, 1/float64(len(xs)) + (x-mean)*(x-mean)/sxx, rss
}
