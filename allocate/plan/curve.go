package plan

import (
	"errors"
	"fmt"
	"math"
	"slices"

	"knee/data"

	"github.com/dustin/go-humanize/english"
)

// CurvePoint is the value of the plan for a cluster of another size.
type CurvePoint struct {
	GPUType string `json:"gpu_type"` // the type whose nodes vary; the others are unchanged
	Nodes   int    `json:"nodes"`    // in use, of that type
	Now     bool   `json:"now"`      // the unchanged cluster
	Outcome
	PerNode float64 `json:"value_per_node"` // gain per node over the previous, smaller point
}

// Curve plans with solve for clusters of other sizes: for every GPU type a quarter to
// twice its nodes, and one node fewer and one more.
func Curve(pr Problem, solve func(Problem) (*data.Plan, error)) ([]CurvePoint, error) {
	if pr.Cluster == nil {
		return nil, errors.New("allocate: there is no cluster")
	}
	var out []CurvePoint
	for _, t := range pr.Cluster.GPUTypes() {
		now := 0
		for _, n := range pr.Cluster.Nodes {
			if n.GPUType == t && !n.Drained {
				now++
			}
		}
		var last *CurvePoint
		for _, n := range curveSizes(now) {
			changed, err := pr, error(nil)
			switch {
			case n < now:
				changed, err = pr.WithoutLast(t, now-n)
			case n > now:
				changed, err = pr.WithNodes(t, n-now)
			}
			p := CurvePoint{GPUType: t, Nodes: n, Now: n == now}
			if err == nil {
				p.Outcome, err = OutcomeOf(changed, solve)
			}
			if err != nil {
				return nil, fmt.Errorf("with %s of type %s: %w", english.Plural(n, "node", ""), t, err)
			}
			if p.Feasible && last != nil && last.Feasible {
				p.PerNode = (p.Value - last.Value) / float64(n-last.Nodes)
			}
			out = append(out, p)
			last = &out[len(out)-1]
		}
	}
	return out, nil
}

// curveSizes are the numbers of nodes to plan for; none if now is 0.
func curveSizes(now int) []int {
	if now == 0 {
		return nil
	}
	sizes := []int{now - 1, now, now + 1}
	for _, f := range []float64{0.25, 0.5, 0.75, 1.25, 1.5, 2} {
		sizes = append(sizes, int(math.Ceil(f*float64(now))))
	}
	slices.Sort(sizes)
	return slices.Compact(sizes)
}
