package operate

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"time"

	"knee/allocate/plan"
	"knee/allocate/policy"
	"knee/data"
	"knee/operate/apply"
	"knee/operate/learn"
	"knee/operate/queue"
)

// mostFits is the default of Loop.Fits. One fit takes some tenths of a second.
const mostFits = 20

func (l *Loop) turn(ctx context.Context, out *Outcome) error {
	snap, err := l.Scheduler.Read(ctx)
	if err != nil {
		return err
	}
	st, err := readState(Folder(l.Config))
	if err != nil {
		return err
	}
	rules, err := Rules(l.Config)
	if err != nil {
		return err
	}
	now := l.Now()
	if by := jumped(l.last, now); by != 0 {
		st.shift(by)
		out.Warnings = append(out.Warnings, fmt.Sprintf("the clock of this machine was set by %s since the last turn; saved times were shifted with it", by.Round(time.Second)))
	}
	folder, err := filepath.Abs(filepath.Join(Folder(l.Config), "models")) // jobs.yaml is in another folder
	if err != nil {
		return err
	}
	models := &learn.Models{Folder: folder, Rules: rules, Most: cmp.Or(l.Fits, mostFits)}
	if err := st.settle(func(id string) bool { return snap.Find(id) != nil }, models.Forget, now, l.Config.BetweenMoves); err != nil {
		return err
	}
	l.last = now
	g := guard{l.Config, st, now}
	if out.Closed = g.closed(beside(l.Config, l.Config.PauseFile)); out.Closed != "" {
		out.Dry = true
	}
	reserve(snap, now, l.Config.Horizon)
	rows := l.look(ctx, snap, g, models, out)
	if err := errors.Join(l.propose(st, out), st.write(), writeInputs(out.Folder, snap.Cluster, rows, queue.File(rows, l.Config.Tenants, snap))); err != nil {
		return err
	}
	if out.Planned > 0 {
		p, err := l.plan(ctx, snap.Cluster, rows, models, out)
		if err != nil {
			return err
		}
		r := &apply.Runner{Scheduler: l.Scheduler, Allowed: g.movable, MaxChanges: l.Config.MaxChanges, Deadline: l.Config.Deadline, Sleep: l.Sleep}
		r.Before = func(c apply.Change) error {
			st.Changed[c.ID] = now.UTC()
			return errors.Join(l.Audit.err, st.write())
		}
		if out.Changes, err = r.Run(ctx, p, out.Dry); err != nil {
			return err
		}
	}
	return l.release(ctx, rows, g, out)
}

// jumped returns by how much the clock was set between two readings: their
// difference on the wall clock less that on the monotonic clock.
func jumped(before, now time.Time) time.Duration {
	if before.IsZero() {
		return 0
	}
	by := now.Round(0).Sub(before.Round(0)) - now.Sub(before)
	if by.Abs() < time.Second { // NTP slews the clock a little
		return 0
	}
	return by
}

// look describes the jobs, and updates their models from what they have printed
// since the last turn. A job with a proposal keeps its model: its nodes or
// workers are slow, not its model wrong.
func (l *Loop) look(ctx context.Context, snap *queue.Snapshot, g guard, models *learn.Models, out *Outcome) []queue.Row {
	out.Read = g.now.Add(l.Now().Sub(g.now)).UTC() // monotonic: the clock may be set during the turn
	view := queue.View{Rules: models.Rules, Movable: g.movable, Watched: g.allowed, Readings: g.state.Readings, Now: out.Read, Model: func(row *queue.Row) string {
		if p := learn.Propose(row, out.Read); p != nil {
			out.Proposals = append(out.Proposals, *p)
			return models.Find(row)
		}
		return models.Of(ctx, row)
	}}
	rows, warnings := view.Rows(ctx, l.Scheduler, snap)
	out.Updates = models.Updates
	out.Warnings = append(append(append(out.Warnings, snap.Warnings...), warnings...), models.Warnings...)
	out.Jobs = len(rows)
	models.Forecast(rows, out.Read)
	for i := range rows {
		if rows[i].Model != "" {
			out.Planned++
		}
	}
	return rows
}

// propose logs each new model, and each proposal that the last turn did not make.
func (l *Loop) propose(st *state, out *Outcome) error {
	proposed := map[string]string{}
	for _, p := range out.Proposals {
		if proposed[p.Job] = p.Kind; st.Proposed[p.Job] != p.Kind {
			l.Audit.note("proposal", p)
		}
	}
	st.Proposed = proposed
	for _, u := range out.Updates {
		l.Audit.note("model", u)
	}
	return l.Audit.err
}

// writeInputs writes queue.json, cluster.yaml and jobs.yaml of a turn.
func writeInputs(folder string, cluster *data.Cluster, rows []queue.Row, jobs *data.JobsFile) error {
	write := func(name string, f func(io.Writer) error) error {
		return data.WriteFile(filepath.Join(folder, name), f)
	}
	return errors.Join(writeJSON(filepath.Join(folder, "queue.json"), rows),
		write("cluster.yaml", func(w io.Writer) error { return data.WriteCluster(w, cluster) }),
		write("jobs.yaml", func(w io.Writer) error { return data.WriteJobs(w, jobs) }))
}

// plan makes a plan from the files of writeInputs and, if the configuration asks
// for it, lets one job be measured at twice its size.
func (l *Loop) plan(ctx context.Context, cluster *data.Cluster, rows []queue.Row, models *learn.Models, out *Outcome) (*data.Plan, error) {
	p, err := l.Plan(ctx, filepath.Join(out.Folder, "cluster.yaml"), filepath.Join(out.Folder, "jobs.yaml"))
	if err != nil {
		return nil, err
	}
	out.Warnings = append(out.Warnings, p.Warnings...)
	if l.Metrics != nil {
		l.Metrics.speeds(rows, p)
	}
	if l.Config.Profile {
		if entry := models.Profile(p, rows, cluster); entry != nil {
			out.Profiled = entry.ID
		}
	}
	return p, data.WriteFile(filepath.Join(out.Folder, "plan.json"), func(w io.Writer) error { return data.WritePlan(w, p) })
}

// Planner returns a [Loop.Plan] with the settings of a configuration.
func Planner(c *data.Operate, now func() time.Time) func(ctx context.Context, cluster, jobs string) (*data.Plan, error) {
	return func(_ context.Context, cluster, jobs string) (*data.Plan, error) {
		pr, err := plan.Load(cluster, jobs)
		if err != nil {
			return nil, err
		}
		pr.Objective, pr.Policy, pr.Sizes, pr.Risk, pr.Hysteresis = c.Objective, c.Policy, c.Sizes, c.Risk, c.Hysteresis
		pr.Seed, pr.Now, pr.EqualNodes = 1, now(), c.Scheduler == "slurm"
		return policy.Solve(pr)
	}
}
