package convergence

import (
	"math"
	"slices"
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
// likely to come, and a curve through the first predicts them better than one
// of the last level alone.
//
// Once a cut was seen at a milestone, its ratio is expected of the later
// ones too. Before the first, the effect of cuts on this job is not known, and
// they are left out.
func (c *Curve) lastSegment() segment {
	s := segment{points: c.Recorded, ratio: 1}
	cut, near := 0, c.LastX/float64(2*len(c.Recorded)) // a point nearer to a milestone was recorded at it
	for _, m := range c.Milestones {
		i := slices.IndexFunc(c.Recorded, func(p Point) bool { return p.X > m+near })
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
