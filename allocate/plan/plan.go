package plan

import (
	"fmt"
	"math"
	"slices"

	"knee/allocate"
	"knee/allocate/place"
	"knee/allocate/solve"
	"knee/data"
)

// wide is the width of a 90 % interval relative to its mean from which a
// speed is worth measuring before it is relied upon.
const wide = 0.5

// plan writes down what was decided, why, and what to beware of.
func (p *prepared) plan(best solve.Solution, placed []place.Placed, placer *place.Placer) *data.Plan {
	plan := &data.Plan{
		Version: data.PlanVersion, Objective: p.objective.Name(), Policy: p.Policy, Seed: p.Seed,
		Inputs: slices.Clone(p.Inputs), Jobs: []data.PlannedJob{}, Warnings: []string{},
	}
	if plan.Inputs == nil {
		plan.Inputs = []data.Input{}
	}
	var sum float64
	for i := range p.Jobs {
		if placed[i].Choice == allocate.None {
			sum += p.state.Jobs[i].Idle
		} else {
			sum += placed[i].Option.Value
		}
	}
	plan.Value = finite(p.objective.Report(sum, p.subjects))
	plan.Bound = finite(p.objective.Report(best.Bound, p.subjects))
	plan.RunningBound = finite(p.objective.Report(best.RunningBound, p.subjects))
	bound := plan.RunningBound
	if paused := slices.ContainsFunc(placed, func(at place.Placed) bool { return at.Choice == allocate.None }); paused {
		bound = plan.Bound
	}
	plan.Gap = math.Max(0, (bound-plan.Value)/math.Max(math.Abs(bound), 1e-12))
	plan.Utilization.GPUsTotal = p.Cluster.Slots()
	for i := range p.Jobs {
		plan.Utilization.GPUsUsed += placed[i].Option.Use.GPUs
	}
	free := placer.Free()
	for i := range p.Jobs {
		plan.Jobs = append(plan.Jobs, p.planned(i, placed[i], free))
		plan.Warnings = append(plan.Warnings, p.warnings(i, placed[i])...)
	}
	if f := placer.Fragmentation(); f > 0.5 && plan.Utilization.GPUsTotal-plan.Utilization.GPUsUsed >= 4 {
		plan.Warnings = append(plan.Warnings, fmt.Sprintf("%d GPUs are idle, %.0f %% of them on partly used nodes, where jobs that want whole nodes cannot use them",
			plan.Utilization.GPUsTotal-plan.Utilization.GPUsUsed, 100*f))
	}
	return plan
}

// planned is the entry of one job.
func (p *prepared) planned(i int, at place.Placed, free map[string]int) data.PlannedJob {
	job := p.Jobs[i]
	out := data.PlannedJob{Name: job.Name, Action: p.action(i, at), Placement: []data.NodeShare{}, Template: template(job), Resources: needs(job), Range: workersRange(job)}
	if at.Choice == allocate.None {
		out.Reason = p.whyPaused(i, at)
		return out
	}
	o := at.Option
	out.GPUType, out.Mode, out.Workers, out.PS = o.Config.GPUType, o.Config.ModeOrDefault(), o.Config.Workers, o.Config.PS
	out.GPUName = p.Cluster.GPUName(out.GPUType)
	out.Placement, out.LocalBatch, out.AccumSteps = at.Nodes, o.Config.LocalBatch, o.Config.AccumSteps
	out.Throughput, out.Goodput = o.Answer.Throughput, o.Answer.Goodput
	out.Finish, out.Cost, out.Extrapolated = o.Answer.TimeToTarget, o.Answer.CostToTarget, o.Answer.Extrapolated
	if r := job.RestartSeconds; job.Current != nil && out.Action != data.Keep && r > 0 && out.Finish.Mean > 0 {
		out.Finish = shift(out.Finish, r)
		out.Cost = shift(out.Cost, r*o.Answer.PricePerHour/3600)
	}
	t := p.marginalSlopes(i, at)
	out.MarginalGain = data.MarginalGain{Last: finite(t.last), Next: finite(t.next)}
	out.Reason = p.why(i, at, t, free)
	return out
}

// action compares what a job gets with what it has.
func (p *prepared) action(i int, at place.Placed) data.Action {
	cur := p.Jobs[i].Current
	switch {
	case at.Choice == allocate.None:
		return data.Pause
	case cur == nil || len(cur.Placement) == 0:
		return data.Start
	}
	now, next := currentConfig(p.Jobs[i]), at.Option.Config
	switch {
	case next.Workers > now.Workers:
		return data.Grow
	case next.Workers < now.Workers:
		return data.Shrink
	case !sameAllocation(now, next) || !sameNodes(p.standing[i].Current, at.Nodes):
		return data.Move
	}
	return data.Keep
}

// sameNodes reports whether the workers stand where they stood; nodes that
// are not known stand anywhere.
func sameNodes(now, next []data.NodeShare) bool {
	if now == nil {
		return true
	}
	count := map[string]int{}
	for _, s := range now {
		count[s.Node] += s.Workers
	}
	for _, s := range next {
		count[s.Node] -= s.Workers
	}
	for _, n := range count {
		if n != 0 {
			return false
		}
	}
	return true
}

// warnings are what the reader of a plan should know about one job.
func (p *prepared) warnings(i int, at place.Placed) []string {
	name := p.Jobs[i].Name
	var out []string
	if m, ok := p.infeasible[i]; ok {
		out = append(out, m)
	}
	if at.Note != "" {
		out = append(out, fmt.Sprintf("job %q: %s", name, at.Note))
	}
	if w := p.standingUnknown(i, at); w != "" {
		out = append(out, w)
	}
	if at.Choice == allocate.None {
		return out
	}
	a := at.Option.Answer
	g := a.Goodput
	switch {
	case a.Extrapolated:
		why := a.Why
		if why == "" {
			why = "outside the measured range"
		}
		out = append(out, fmt.Sprintf("job %q: the speed of %s is extrapolated (%s); worth profiling", name, at.Option.Config, why))
	case g.Mean > 0 && (g.Hi-g.Lo)/g.Mean > wide:
		out = append(out, fmt.Sprintf("job %q: the goodput of %s is only known to lie between %s and %s samples/s; worth profiling", name, at.Option.Config, rate(g.Lo), rate(g.Hi)))
	}
	if d := p.Jobs[i].Deadline.Seconds(); d > 0 && a.TimeToTarget.Mean > d {
		out = append(out, fmt.Sprintf("job %q is expected to miss its deadline of %s by %s", name, seconds(d), seconds(a.TimeToTarget.Mean-d)))
	}
	return out
}

// standingUnknown warns of a job that is moved off a configuration whose speed
// was never measured: the gain of the move is then a guess. It is empty where
// the job stays, does not run or stands within what was measured.
func (p *prepared) standingUnknown(i int, at place.Placed) string {
	job := p.Jobs[i]
	if job.Current == nil || len(job.Current.Placement) == 0 || p.action(i, at) == data.Keep {
		return ""
	}
	now := currentConfig(job)
	a, err := p.oracles[i].At(now)
	switch {
	case err != nil:
		return fmt.Sprintf("job %q: the speed of %s, where it runs now, is unknown (%v), so staying there was not weighed", job.Name, now, err)
	case a.Extrapolated:
		return fmt.Sprintf("job %q: the speed of %s, where it runs now, is extrapolated (%s), and with it what a change gains", job.Name, now, a.Why)
	}
	return ""
}

// template copies what export needs, nil if there is nothing.
func template(job data.Job) *data.Template {
	t := job.Template
	if t.Image == "" && len(t.Command) == 0 && len(t.Env) == 0 && t.Namespace == "" && t.Partition == "" && t.Account == "" && t.TimeLimit == "" {
		return nil
	}
	return &t
}

func workersRange(job data.Job) *data.PlanRange {
	if job.Workers == (data.IntRange{}) {
		return nil
	}
	return &data.PlanRange{Min: max(1, job.Workers.Min), Max: job.Workers.Max}
}

func needs(job data.Job) *data.PlanNeeds {
	r := job.Resources
	n := data.PlanNeeds{WorkerCPUs: r.Worker.CPUs, WorkerMemory: r.Worker.Memory, PSCPUs: r.PS.CPUs, PSMemory: r.PS.Memory}
	if n == (data.PlanNeeds{}) {
		return nil
	}
	return &n
}

func shift(e data.Estimate, by float64) data.Estimate {
	return data.Estimate{Mean: e.Mean + by, Lo: e.Lo + by, Hi: e.Hi + by}
}

// finite keeps infinities out of JSON, which has no word for them.
func finite(x float64) float64 {
	switch {
	case math.IsNaN(x):
		return 0
	case math.IsInf(x, 0):
		return math.Copysign(math.MaxFloat64, x)
	}
	return x
}

// sameAllocation reports whether two configurations occupy the same machines
// in the same way; the batch may differ, changing it restarts nothing.
func sameAllocation(a, b data.Config) bool {
	return a.GPUType == b.GPUType && a.ModeOrDefault() == b.ModeOrDefault() &&
		a.Workers == b.Workers && a.PS == b.PS && samePlacement(a.Placement, b.Placement)
}

// samePlacement reports whether two shapes are equal up to the order of
// nodes. A shape that is not known equals any.
func samePlacement(a, b data.Placement) bool {
	if len(a) == 0 || len(b) == 0 {
		return true
	}
	return place.Sorted(a).String() == place.Sorted(b).String()
}
