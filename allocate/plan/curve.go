package plan

import (
	"errors"
	"fmt"
	"math"
	"slices"

	"knee/data"
)

// CurvePoint is what a cluster of another size is worth.
type CurvePoint struct {
	GPUType  string  `json:"gpu_type"` // the type whose nodes vary; those of others stay
	Nodes    int     `json:"nodes"`    // in use, of that type
	Now      bool    `json:"now"`      // the cluster as it is
	Feasible bool    `json:"feasible"`
	Value    float64 `json:"value"`
	Bound    float64 `json:"bound"`
	PerNode  float64 `json:"value_per_node"` // gained per node since the point before, which has fewer
	Totals   Totals  `json:"totals"`
}

// Curve plans for clusters of other sizes: for every GPU type with a quarter
// to twice the nodes it has, and with one fewer and one more. solve is what
// makes a plan of a problem.
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
		if now == 0 {
			continue
		}
		points, err := curveOf(pr, t, now, solve)
		if err != nil {
			return nil, err
		}
		out = append(out, points...)
	}
	return out, nil
}

// curveOf is the part of the curve in which the nodes of one type vary.
func curveOf(pr Problem, gpuType string, now int, solve func(Problem) (*data.Plan, error)) ([]CurvePoint, error) {
	var out []CurvePoint
	for _, n := range curveSizes(now) {
		changed, err := pr, error(nil)
		switch {
		case n < now:
			changed, err = pr.WithoutLast(gpuType, now-n)
		case n > now:
			changed, err = pr.WithNodes(gpuType, n-now)
		}
		if err != nil {
			return nil, err
		}
		p := CurvePoint{GPUType: gpuType, Nodes: n, Now: n == now}
		plan, err := solve(changed)
		var none *Infeasible
		switch {
		case errors.As(err, &none):
		case err != nil:
			return nil, fmt.Errorf("with %d nodes of type %s: %w", n, gpuType, err)
		default:
			p.Feasible, p.Value, p.Bound, p.Totals = true, plan.Value, plan.Bound, TotalsOf(changed, plan)
			if last := len(out) - 1; last >= 0 && out[last].Feasible {
				p.PerNode = (p.Value - out[last].Value) / float64(n-out[last].Nodes)
			}
		}
		out = append(out, p)
	}
	return out, nil
}

// curveSizes are the numbers of nodes to look at.
func curveSizes(now int) []int {
	sizes := []int{now - 1, now, now + 1}
	for _, f := range []float64{0.25, 0.5, 0.75, 1.25, 1.5, 2} {
		sizes = append(sizes, int(math.Ceil(f*float64(now))))
	}
	slices.Sort(sizes)
	return slices.DeleteFunc(slices.Compact(sizes), func(n int) bool { return n < 0 })
}
