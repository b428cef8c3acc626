package plan

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/dustin/go-humanize/english"

	"knee/data"
	"knee/internal/grouped"
	"knee/internal/list"
)

// WithNodes is the problem with n more nodes like the first of a GPU type.
func (pr Problem) WithNodes(gpuType string, n int) (Problem, error) {
	at := slices.IndexFunc(pr.Cluster.Nodes, func(x data.Node) bool { return x.GPUType == gpuType })
	if at < 0 {
		return pr, fmt.Errorf("no node of type %q to add more of; the cluster has %s", gpuType, strings.Join(pr.Cluster.GPUTypes(), ", "))
	}
	if n < 1 || n > maxMoreNodes {
		return pr, fmt.Errorf("%d more nodes, want 1 to %d", n, maxMoreNodes)
	}
	_, taken := grouped.By(pr.Cluster.Nodes, func(x data.Node) string { return x.Name })
	var more []data.Node
	for i := 1; len(more) < n; i++ {
		x := pr.Cluster.Nodes[at]
		if x.Name, x.Drained = fmt.Sprintf("%s-new-%d", gpuType, i), false; len(taken[x.Name]) == 0 {
			more = append(more, x)
		}
	}
	return pr.withCluster(append(slices.Clone(pr.Cluster.Nodes), more...)), nil
}

// maxMoreNodes bounds the nodes that can be added at once.
const maxMoreNodes = 65536

// WithMore is the problem with the nodes of another cluster, whose names must be new.
func (pr Problem) WithMore(more []data.Node) (Problem, error) {
	for _, n := range more {
		if slices.ContainsFunc(pr.Cluster.Nodes, func(x data.Node) bool { return x.Name == n.Name }) {
			return pr, &data.InputError{Source: data.Source{Column: "nodes"}, Found: fmt.Sprintf("%q, as in the cluster", n.Name), Want: "nodes of other names"}
		}
	}
	return pr.withCluster(slices.Concat(pr.Cluster.Nodes, more)), nil
}

// WithoutNodes is the problem without some nodes; jobs on them are planned anew.
func (pr Problem) WithoutNodes(names []string) (Problem, error) {
	nodes := slices.Clone(pr.Cluster.Nodes)
	for _, name := range names {
		at := slices.IndexFunc(nodes, func(x data.Node) bool { return x.Name == name })
		if at < 0 {
			return pr, fmt.Errorf("the cluster has no node %q to remove", name)
		}
		nodes = slices.Delete(nodes, at, at+1)
	}
	return pr.withCluster(nodes), nil
}

// WithoutLast is the problem without the last n nodes in use of a GPU type, or all if n
// is negative.
func (pr Problem) WithoutLast(gpuType string, n int) (Problem, error) {
	var names []string
	for _, x := range slices.Backward(pr.Cluster.Nodes) {
		if x.GPUType == gpuType && !x.Drained && (n < 0 || len(names) < n) {
			names = append(names, x.Name)
		}
	}
	if len(names) == 0 || n > len(names) {
		return pr, fmt.Errorf("cannot remove %d of type %q: %s of it in use", max(n, 1), gpuType, english.Plural(len(names), "node", ""))
	}
	return pr.WithoutNodes(names)
}

// WithoutJob is the problem without one job.
func (pr Problem) WithoutJob(name string) (Problem, error) {
	at := slices.IndexFunc(pr.Jobs, func(j data.Job) bool { return j.Name == name })
	if at < 0 {
		return pr, fmt.Errorf("there is no job %q to leave out", name)
	}
	pr.Jobs = slices.Delete(slices.Clone(pr.Jobs), at, at+1)
	return pr, nil
}

// withCluster replaces the nodes and keeps the fair shares.
func (pr Problem) withCluster(nodes []data.Node) Problem {
	pr.FairSlots = cmp.Or(pr.FairSlots, pr.Cluster.Slots())
	c := *pr.Cluster
	c.Nodes = nodes
	pr.Cluster = &c
	return pr
}

// Outcome sums up the plan of a problem.
type Outcome struct {
	Feasible bool    `json:"feasible"`
	Why      string  `json:"why,omitempty"` // it is not feasible
	Value    float64 `json:"value"`
	Bound    float64 `json:"bound"`
	Totals   Totals  `json:"totals"`
}

// OutcomeOf solves a problem and sums up its plan. That it is infeasible is no error.
func OutcomeOf(pr Problem, solve func(Problem) (*data.Plan, error)) (Outcome, error) {
	made, err := solve(pr)
	if _, ok := errors.AsType[*Infeasible](err); ok {
		return Outcome{Why: err.Error()}, nil
	}
	if err != nil {
		return Outcome{}, err
	}
	return Outcome{Feasible: true, Value: made.Value, Bound: made.Bound, Totals: TotalsOf(pr, made)}, nil
}

// Totals sums a plan up.
type Totals struct {
	Running      int     `json:"running"`
	Waiting      int     `json:"waiting"` // they get nothing
	Changed      int     `json:"changed"` // running jobs that must restart or stop
	GPUsUsed     int     `json:"gpus_used"`
	GPUsTotal    int     `json:"gpus_total"`
	MeanFinish   float64 `json:"mean_finish_s"`  // of the jobs that run and have a goal
	LastFinish   float64 `json:"last_finish_s"`  // of those
	CostToEnd    float64 `json:"cost_usd"`       // of those, if the plan is kept
	PricePerHour float64 `json:"price_per_hour"` // US$ of the GPUs in use
}

// TotalsOf sums up the plan of a problem, which has its jobs in the same order.
func TotalsOf(pr Problem, plan *data.Plan) Totals {
	t := Totals{GPUsUsed: plan.Utilization.GPUsUsed, GPUsTotal: plan.Utilization.GPUsTotal}
	price := pricesOf(pr.Cluster)
	finishing := 0
	for i, j := range plan.Jobs {
		if pr.Jobs[i].Current != nil && j.Action != data.Keep {
			t.Changed++
		}
		if !j.Action.Runs() {
			t.Waiting++
			continue
		}
		t.Running++
		t.PricePerHour += price[j.GPUType] * float64(j.Workers)
		t.CostToEnd += j.Cost.Mean
		if j.Finish.Mean > 0 {
			finishing++
			t.MeanFinish += j.Finish.Mean
			t.LastFinish = max(t.LastFinish, j.Finish.Mean)
		}
	}
	if finishing > 0 {
		t.MeanFinish /= float64(finishing)
	}
	return t
}

// CurvePoint is the value of the plan for a cluster of another size.
type CurvePoint struct {
	GPUType string `json:"gpu_type"` // the type whose nodes vary; the others are unchanged
	Nodes   int    `json:"nodes"`    // in use, of that type
	Now     bool   `json:"now"`      // the unchanged cluster
	Outcome
	PerNode float64 `json:"value_per_node"` // gain per node over the previous, smaller point
}

// Curve plans for clusters of other sizes: for every GPU type a quarter to twice its
// nodes, and one node fewer and one more.
func Curve(pr Problem, solve func(Problem) (*data.Plan, error)) ([]CurvePoint, error) {
	if pr.Cluster == nil {
		return nil, errors.New("allocate: there is no cluster")
	}
	var out []CurvePoint
	for _, t := range pr.Cluster.GPUTypes() {
		now := list.Count(pr.Cluster.Nodes, func(n data.Node) bool { return n.GPUType == t && !n.Drained })
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
