package convergence

import (
	"math"
	"slices"

	"knee/internal/quantile"
)

const (
	// cutWindow is the number of points compared on either side of a cut.
	cutWindow = 10
	// minSegment is the fewest points of a segment: of a line and a degree of freedom.
	minSegment = 3
)

// segment is the record since its last known cut, and the effect of later cuts.
type segment struct {
	points []Point
	start  float64   // first step, 0 without cuts
	later  []float64 // milestones after the record, steps
	ratio  float64   // loss after a cut over loss before, 1 if no cut was recorded
	plan   float64   // steps planned, 0 if unknown
}

// rate is a learning rate, relative to its highest, that falls as a cosine to the planned
// end (Loshchilov and Hutter, "SGDR", ICLR'17, equation 5).
func (s *segment) rate(x float64) float64 {
	return (1 + math.Cos(math.Pi*math.Min(x/s.plan, 1))) / 2
}

// ratioAt returns the factor on the loss of the cuts between the record and x.
func (s *segment) ratioAt(x float64) float64 {
	r := 1.0
	for _, m := range s.later {
		if m < x {
			r *= s.ratio
		}
	}
	return r
}

// lastSegment returns the record after the last milestone it covers, as a curve
// through a cut fits neither side. Without milestones the record stays whole
// even if it drops visibly: more drops are then likely, and a curve through the
// first predicts them better than the last level.
//
// The ratio of a recorded cut is expected of later ones. Before the first cut
// the effect is unknown, and cuts are ignored.
func (c *Curve) lastSegment() segment {
	s := segment{points: c.Recorded, ratio: 1, plan: c.Planned}
	cut, near := 0, c.LastX/float64(2*len(c.Recorded)) // a point this near was recorded at the milestone
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
	before := quantile.Median(losses(c.Recorded[max(0, cut-cutWindow):cut]))
	after := quantile.Median(losses(s.points[:min(len(s.points), cutWindow)]))
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
