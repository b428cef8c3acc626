package convergence

import (
	"math"
	"slices"

	"knee/internal/quantile"
)

// segment is the stretch of a record since its last learning-rate drop, and
// what is known about the drops to come.
type segment struct {
	reachSums
	start float64   // steps at which it begins, 0 for a record without drops
	later []float64 // milestones after the record, steps
	ratio float64   // loss after a drop relative to before, 1 if none was seen
}

// changeWindow is the number of points compared on either side of a drop.
const changeWindow = 5

// minSegment is the fewest points after a drop that are worth a fit.
const minSegment = 3

// ratioAt returns what the drops between the record and x multiply the loss
// by.
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
// through a drop fits neither side of it. Where milestones are not known the
// record stays whole, even if a drop is plain to see: more of them are then
// likely to come, and a curve through the first foresees them better than one
// that believes that there is only the last level left (recorded runs: errors
// at two fifths of the run of 6 to 12 % rather than 11 to 14 %).
//
// Once a drop was seen at a milestone, its ratio is expected of the later
// ones too. Before the first, nothing is known about what drops do to this
// job, and they are left out.
func (c *Curve) lastSegment() *segment {
	points := c.Recorded
	low, high := math.Inf(1), math.Inf(-1)
	for _, p := range points {
		low, high = math.Min(low, p.Loss), math.Max(high, p.Loss)
	}
	span := math.Max(high-low, 1e-9)
	s := &segment{ratio: 1}
	cut := 0
	for _, m := range c.Milestones {
		i := slices.IndexFunc(points, func(p SeenPoint) bool { return p.X > m })
		if i >= minSegment && len(points)-i >= minSegment {
			cut = i
		}
	}
	if cut > 0 {
		s.start = points[cut-1].X
		s.ratio = levelRatio(points, cut)
		for _, m := range c.Milestones {
			if m > c.LastX {
				s.later = append(s.later, m)
			}
		}
	}
	s.reachSums = newReachSums(points[cut:], span)
	s.low = low
	return s
}

// levelRatio returns the level after a cut relative to the level before,
// at most 1: a drop does not raise the loss.
func levelRatio(points []SeenPoint, cut int) float64 {
	before := medianLoss(points[max(0, cut-changeWindow):cut])
	after := medianLoss(points[cut:min(len(points), cut+changeWindow)])
	if !(before > 0) || !(after > 0) {
		return 1
	}
	return math.Min(after/before, 1)
}

func medianLoss(points []SeenPoint) float64 {
	ls := make([]float64, len(points))
	for i, p := range points {
		ls[i] = p.Loss
	}
	return quantile.Median(ls)
}

// ChangePoints returns the steps after which the recorded curve drops
// abruptly, as it does when the learning rate is cut.
func (c *Curve) ChangePoints() []float64 {
	var xs []float64
	for _, i := range dropsIn(c.Recorded) {
		xs = append(xs, c.Recorded[i-1].X)
	}
	return xs
}

// dropsIn returns the indices of points that begin a new, lower level.
//
// A drop is where all of the next points lie under all of the previous ones
// by more than the trend before explains, with a shift of the mean of at
// least five of its standard errors: a shift that noise makes once in
// millions of points. One drop is reported per window, the largest.
func dropsIn(points []SeenPoint) []int {
	var found []int
	best := map[int]float64{}
	for i := changeWindow; i+minSegment <= len(points); i++ {
		score := dropScore(points, i)
		if score < 5 {
			continue
		}
		if n := len(found); n > 0 && i-found[n-1] < changeWindow {
			if score > best[found[n-1]] {
				found[n-1] = i
				best[i] = score
			}
			continue
		}
		found = append(found, i)
		best[i] = score
	}
	return found
}

// dropScore returns the size of a drop before point i in standard errors, 0
// if the two sides overlap.
func dropScore(points []SeenPoint, i int) float64 {
	before, after := points[i-changeWindow:i], points[i:min(len(points), i+changeWindow)]
	lowBefore, highAfter := math.Inf(1), math.Inf(-1)
	var mb, ma float64
	for _, p := range before {
		lowBefore = math.Min(lowBefore, p.Loss)
		mb += p.Loss / float64(len(before))
	}
	for _, p := range after {
		highAfter = math.Max(highAfter, p.Loss)
		ma += p.Loss / float64(len(after))
	}
	if lowBefore <= highAfter {
		return 0
	}
	// What the steepest half of the window before would go on to do.
	trend := math.Max(before[0].Loss-before[len(before)-1].Loss, 0) / (changeWindow - 1)
	shift := mb - ma - trend*float64(len(before)+len(after))/2
	if lowBefore-highAfter < 2*trend {
		return 0
	}
	var ss float64
	for _, p := range before {
		ss += (p.Loss - mb) * (p.Loss - mb)
	}
	for _, p := range after {
		ss += (p.Loss - ma) * (p.Loss - ma)
	}
	variance := ss/float64(len(before)+len(after)-2) + 1e-18
	return shift / math.Sqrt(variance*(1/float64(len(before))+1/float64(len(after))))
}
