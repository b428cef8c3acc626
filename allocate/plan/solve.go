package plan

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"knee/allocate"
	"knee/allocate/objective"
	"knee/allocate/place"
	"knee/allocate/solve"
	"knee/data"
	"knee/internal/list"
)

// Solve makes a plan with a policy; nil is [solve.MarginalGain].
//
// The plan is valued under the objective of the problem and bounded by [solve.Maximise]
// with any policy. The error is an [Infeasible] if no job can be planned, a
// [data.InputError] if one is described wrongly or lacks what the policy needs. A single
// job that cannot be planned gets nothing, or keeps what it has if it runs; the plan says
// why.
//
// Opportunistic jobs are planned after the others, on the GPUs that those leave; value and
// bound are of the others.
func Solve(pr Problem, policy allocate.Policy) (*data.Plan, error) {
	made, err := opportunistic(pr, policy, func(pr Problem, policy allocate.Policy) (*data.Plan, error) {
		return solveWith(pr, oraclesOf(pr), policy)
	})
	if err == nil {
		made.NodeCPUs = nodeCPUs(pr.Cluster, made.Jobs)
	}
	return made, err
}

// nodeCPUs is that of a plan, see [data.Plan].
func nodeCPUs(c *data.Cluster, jobs []data.PlannedJob) map[string]float64 {
	shared := map[string]bool{}
	for _, j := range jobs {
		for _, s := range j.Placement {
			shared[s.Node] = shared[s.Node] || !j.Resources.Whole()
		}
	}
	out := map[string]float64{}
	for i := range c.Nodes {
		if n := &c.Nodes[i]; shared[n.Name] && n.CPUs > 0 {
			out[n.Name] = n.CPUs
		}
	}
	return out
}

func solveWith(pr Problem, oracles []oracle, policy allocate.Policy) (*data.Plan, error) {
	if policy == nil && pr.Hysteresis > 0 {
		// A plan that changes no running job is the plan for any hysteresis.
		free := pr
		free.Hysteresis = 0
		if made, err := solveWith(free, oracles, nil); err == nil && TotalsOf(pr, made).Changed == 0 {
			return made, nil
		}
	}
	p, err := prepare(pr, oracles)
	if err != nil {
		return nil, err
	}
	return p.run(policy)
}

// run lets the policy choose, places the choice and writes the plan.
func (p *prepared) run(policy allocate.Policy) (*data.Plan, error) {
	best, err := solve.Maximise(p.state)
	if err != nil {
		return nil, err
	}
	if policy == nil {
		return p.plan(best, p.settled(best)), nil
	}
	p.policy = p.Policy
	if e, ok := policy.(interface{ WhyIdle(job string) string }); ok {
		p.explain = e.WhyIdle
	}
	a, err := policy.Allocate(p.cautious())
	if err == nil {
		err = a.Check(p.state)
	}
	if err != nil {
		return nil, fmt.Errorf("policy %s: %w", p.Policy, err)
	}
	placed, _ := place.All(p.state, a, p.standing, p.respeed)
	return p.plan(best, placed), nil
}

// cautious is the state for policies: the speeds that the plan is valued with, without an
// interval, so that risk is not applied twice.
func (p *prepared) cautious() allocate.State {
	s := p.state
	s.Jobs = slices.Clone(s.Jobs)
	for i := range s.Jobs {
		j := &s.Jobs[i]
		j.Options = slices.Clone(j.Options)
		for n := range j.Options {
			a := &j.Options[n].Answer
			v := p.subjects[i].Speed(*a)
			share := v / a.Goodput.Mean
			a.Goodput = data.Estimate{Mean: v, Lo: v, Hi: v}
			a.Throughput, a.TimeToTarget, a.CostToTarget = a.Throughput.Scale(share), a.TimeToTarget.Scale(1/share), a.CostToTarget.Scale(1/share)
		}
		if ref := p.subjects[i].Reference; ref.Goodput.Mean > 0 {
			j.Remaining *= ref.Goodput.Mean / p.subjects[i].Speed(ref)
		}
	}
	return s
}

// settleJobs is the most jobs for which a plan is solved again as if it ran;
// settleRounds is how often.
const (
	settleJobs   = 1000
	settleRounds = 8
)

// settled places the best assignment, or keeps the incumbent. The solver ignores
// placement, so the plan is then solved again as if it ran, and replaced by one that is
// better in spite of restarts or starts more jobs, until none is: planning after a plan
// was applied gives the same plan.
func (p *prepared) settled(best solve.Solution) []place.Placed {
	placed, _ := p.challenge(best)
	for round := 0; round < settleRounds && len(p.Jobs) <= settleJobs; round++ {
		next := p.after(placed)
		again, err := solve.Maximise(next.state)
		if err != nil {
			break
		}
		found, contested := next.challenge(again)
		if !contested || !next.changes(found) {
			break
		}
		placed = p.translated(found)
	}
	return placed
}

// challenge places an assignment and returns the better of it and the incumbent
// (contested: there is one).
func (p *prepared) challenge(best solve.Solution) (placed []place.Placed, contested bool) {
	placed, _ = place.All(p.state, best.Assignment, p.standing, p.respeed)
	now := p.incumbent()
	if now != nil && !p.better(placed, now) {
		placed = now
	}
	return placed, now != nil
}

func (p *prepared) changes(placed []place.Placed) bool {
	for i := range placed {
		if placed[i].Choice == allocate.None && p.state.Jobs[i].Current != allocate.None || placed[i].Choice != allocate.None && !placed[i].Option.Keeps {
			return true
		}
	}
	return false
}

// better reports whether a plan replaces another: only it runs every job, or its value is
// higher.
func (p *prepared) better(a, than []place.Placed) bool {
	if x, y := p.runsAll(a), p.runsAll(than); x != y {
		return x
	}
	x, y := place.Value(p.state.Jobs, a), place.Value(p.state.Jobs, than)
	return x > y+1e-9*(1+math.Abs(y))
}

// runsAll reports whether every job that can run does.
func (p *prepared) runsAll(placed []place.Placed) bool {
	limits := p.state.Capacity()
	for i := range placed {
		if placed[i].Choice == allocate.None && limits.CanRun(&p.state.Jobs[i]) {
			return false
		}
	}
	return true
}

// incumbent is the running jobs on their nodes and others that fit; nil if nothing runs
// or it exceeds a limit.
func (p *prepared) incumbent() []place.Placed {
	a := allocate.Assignment{Choice: list.Map(p.state.Jobs, func(j allocate.JobState) int { return j.Current })}
	runs := func(c int) bool { return c != allocate.None }
	if !slices.ContainsFunc(a.Choice, runs) || a.Check(p.state) != nil {
		return nil
	}
	return place.Incumbent(p.state, a, p.standing, p.respeed)
}

// after is the problem once a plan was applied.
func (p *prepared) after(placed []place.Placed) *prepared {
	q := *p
	q.Jobs, q.subjects, q.standing = slices.Clone(p.Jobs), slices.Clone(p.subjects), slices.Clone(p.standing)
	q.state.Jobs = slices.Clone(p.state.Jobs)
	for i := range placed {
		if len(p.state.Jobs[i].Options) == 0 {
			continue
		}
		j, s, at := &q.state.Jobs[i], &q.subjects[i], &placed[i]
		old := j.Options
		j.Options, j.Current = make([]allocate.Option, 0, len(old)+1), allocate.None
		if at.Choice == allocate.None {
			q.Jobs[i].Current, q.standing[i].Current = nil, nil
		} else {
			q.Jobs[i].Current = data.Running(at.Option.Config, at.Nodes)
			q.standing[i].Current = q.Jobs[i].Current.Parts()
			stays := at.Option
			stays.Keeps = true
			j.Options, j.Current = append(j.Options, stays), 0
			j.Requested = cmp.Or(p.Jobs[i].Requested, stays.Config.Workers)
		}
		for n := range old {
			if at.Choice == allocate.None || !place.Same(old[n].Config, at.Option.Config) {
				j.Options = append(j.Options, old[n])
				j.Options[len(j.Options)-1].Keeps = false
			}
		}
		s.Job = q.Jobs[i]
		objective.SetValues(q.objective, *s, j.Options)
	}
	return &q
}

// translated is a plan of another problem of these jobs, valued against what they run.
func (p *prepared) translated(placed []place.Placed) []place.Placed {
	out := slices.Clone(placed)
	for i := range out {
		if at := &out[i]; at.Choice != allocate.None {
			cur := p.Jobs[i].Current
			at.Option.Keeps = cur != nil && place.Same(cur.Config(), at.Option.Config) && sameNodes(p.standing[i].Current, at.Nodes)
			at.Option.Value = p.valueOf(i, &at.Option)
		}
	}
	return out
}

// valueOf is the value of an option that may be in an uneven shape: at most that of the
// job's options with as many workers and servers of the type. A prediction that it is
// better is wrong, and could exceed the bound.
func (p *prepared) valueOf(i int, o *allocate.Option) float64 {
	most, c := math.Inf(-1), o.Config
	for _, x := range p.state.Jobs[i].Options {
		if x.Config.GPUType == c.GPUType && x.Config.Workers == c.Workers && x.Config.PS == c.PS {
			most = max(most, x.Value)
		}
	}
	return min(most, objective.ValueOf(p.objective, p.subjects[i], o))
}

// respeed implements [place.Respeed].
func (p *prepared) respeed(i int, c data.Config) (allocate.Option, bool) {
	if p.EqualNodes && slices.Max(c.Placement) != slices.Min(c.Placement) {
		return allocate.Option{}, false
	}
	job := p.Jobs[i]
	job.Batch.Adapt = job.Batch.Adapt && !p.KeepBatch
	a, err := p.Cache.answer(job, aimless(p.oracles[i]), c)
	if err == nil {
		err = p.aims[i](&a)
	}
	if err != nil {
		return allocate.Option{}, false
	}
	o := allocate.Option{Answer: a, Use: allocate.UseOf(a.Config, job.Resources)}
	o.Value = p.valueOf(i, &o)
	return o, true
}
