package fit

import (
	"fmt"
	"math"
	"slices"

	"knee/data"
)

// lesson is what another job teaches.
type lesson struct {
	job string
	// theta holds its coordinates of collective, as a job that was measured
	// as far as ours would have had to expect them.
	theta     []float64
	loneShare float64 // see group.loneShare
	perByte   float64 // ln of seconds per byte between two nodes; NaN if the message is unknown
}

// lessons returns what the fits of other models teach a group: those on the
// same GPU type if there are any, else those on others. Only jobs that were
// measured on several nodes know the links between them.
func lessons(others []*Model, g *group) ([]lesson, error) {
	var same, other []lesson
	for _, m := range others {
		for _, o := range m.groups {
			if o.mode != g.mode || o.hull.Nodes[1] < 2 || len(o.stack.theta) != colCount {
				continue
			}
			theta, err := o.asSeenFrom(g)
			if err != nil {
				return nil, fmt.Errorf("learn from job %q: %w", m.job, err)
			}
			l := lesson{m.job, theta, o.loneShare(), math.NaN()}
			if o.borrowed != nil && o.borrowed.Parameters > 0 {
				x := o.stack.theta
				l.perByte = math.Log(o.stack.scale.compute/o.borrowed.Parameters) + x[colIntra] + x[colInterOverIntra]
			}
			if o.gpuType == g.gpuType {
				same = append(same, l)
			} else {
				other = append(other, l)
			}
		}
	}
	if len(same) > 0 {
		return same, nil
	}
	return other, nil
}

// loneShare is ln of the share of a lone worker's micro-step that its timers
// put down to synchronisation, NaN if not measured. Nothing is exchanged
// then, but gradients are copied, so that it grows with the message.
func (g *group) loneShare() float64 {
	var sum, n float64
	for _, r := range g.rows {
		if r.Workers == 1 && r.SyncTime > 0 {
			sum += math.Log(r.SyncTime)
			n++
		}
	}
	return sum/n - math.Log(scaleOf(withMode(g.rows, g.mode)).compute)
}

// asSeenFrom returns the coordinates of o with the time between nodes
// relative to the time inside a node that the rows within g's range alone
// show: overlapped synchronisation looks cheaper from one node than it is.
func (o *group) asSeenFrom(g *group) ([]float64, error) {
	theta := slices.Clone(o.stack.theta)
	if g.hull.Nodes[1] > 1 || g.hull.Widest[1] < 2 {
		return theta, nil
	}
	part := &group{gpuType: o.gpuType, mode: o.mode}
	for i, r := range o.rows {
		if r.NodeCount() == 1 && float64(r.WidestNode()) <= g.hull.Widest[1] {
			part.rows = append(part.rows, r)
			if o.runs != nil {
				part.runs = append(part.runs, o.runs[i])
			}
		}
	}
	if !slices.ContainsFunc(part.rows, func(r data.Measurement) bool { return r.WidestNode() > 1 }) {
		return theta, nil
	}
	seen, err := solveAlone(part)
	if err != nil {
		return nil, err
	}
	lnT := math.Log(scaleOf(withMode(part.rows, part.mode)).compute)
	intra := seen[colIntra] + lnT - math.Log(o.stack.scale.compute)
	theta[colInterOverIntra] += theta[colIntra] - intra
	theta[colIntra] = intra
	return theta, nil
}

// solveAlone fits collective to the rows of a group under the general prior.
func solveAlone(g *group) ([]float64, error) {
	f, _, pts, full := g.prepare("collective")
	theta, _, err := solve(f, layOut(full, pts, f.kernel()), spread{Scale: 1}, nil)
	return theta, err
}
