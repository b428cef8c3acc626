package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"strings"
	"time"

	"github.com/dustin/go-humanize/english"
	"github.com/spf13/cobra"

	"knee/data"
	"knee/internal/kube"
	"knee/operate"
	"knee/operate/apply"
	"knee/operate/kubequeue"
	"knee/operate/learn"
	"knee/operate/queue"
	"knee/operate/slurmqueue"
	"knee/plots"
)

var schedulers = []string{"kubernetes", "slurm"}

// openQueue returns a scheduler's queue; audit is called with every change of a job.
func openQueue(name string, namespaces []string, audit func(queue.Command) error) (queue.Scheduler, error) {
	if name == "slurm" {
		return slurmqueue.New(audit), nil
	}
	client, err := kube.Load(kube.Settings{})
	if err != nil {
		return nil, err
	}
	return kubequeue.New(client, namespaces, audit), nil
}

type queueFlags struct {
	scheduler, config string
	namespaces        []string
}

// add adds the flags; that of the scheduler is called name.
func (f *queueFlags) add(cmd *cobra.Command, name string) {
	choose(cmd, &f.scheduler, name, "scheduler: "+strings.Join(schedulers, ", "), schedulers...)
	fileFlag(cmd, &f.config, "config", "operate.yaml with rules, allow-list and limits", "yaml", "yml")
	cmd.Flags().StringSliceVar(&f.namespaces, "namespace", nil, "Kubernetes namespaces, '*' for all (default: the context's)")
	required(cmd, name)
}

// load reads the configuration, nil without one. Namespaces of flags come first.
func (f *queueFlags) load() (*data.Operate, error) {
	if f.config == "" {
		return nil, nil
	}
	c, err := data.Load(f.config, data.ReadOperate)
	if err == nil && len(f.namespaces) == 0 {
		f.namespaces = c.Namespaces
	}
	return c, err
}

func newJobs(a *app) *cobra.Command {
	var from queueFlags
	cmd := answering("jobs --from SCHEDULER", func(cmd *cobra.Command, _ []string, out format) error {
		view := queue.View{Now: time.Now()}
		var tenants []data.Tenant
		c, err := from.load()
		if err == nil && c != nil {
			tenants = c.Tenants
			if view.Rules, err = operate.Rules(c); err == nil {
				view.Movable, err = operate.Movable(c, view.Now)
			}
		}
		if err != nil {
			return err
		}
		s, err := openQueue(from.scheduler, from.namespaces, nil)
		if err != nil {
			return err
		}
		snap, err := s.Read(cmd.Context())
		if err != nil {
			return err
		}
		rows, warnings := view.Rows(cmd.Context(), s, snap)
		a.warn(append(snap.Warnings, warnings...)...)
		if out == "yaml" {
			return data.WriteJobs(a.stdout, queue.File(rows, tenants, snap))
		}
		return out.print(a.stdout, rows, jobsTable(rows))
	}, "yaml")
	from.add(cmd, "from")
	return cmd
}

func jobsTable(rows []queue.Row) *table {
	t := newTable("id,name,namespace,user,state,requested,nodes,gpu_type,since,queue,priority,requeue,model,step,step_time_s,fixed")
	for _, r := range rows {
		since, state := "", string(r.State)
		if at := cmp.Or(r.Started, r.Submitted); !at.IsZero() {
			since = at.UTC().Format(time.RFC3339)
		}
		if r.Held {
			state = "held"
		}
		t.add(r.ID, r.Name, r.Namespace, r.User, state, orEmpty(float64(r.Requested)), plots.Nodes(r.Nodes), r.GPUType, since,
			strings.Trim(r.Partition+" "+r.Queue, " "), orEmpty(r.Priority), r.Requeue, r.Model, orEmpty(r.Step), orEmpty(r.StepTime), r.Fixed)
	}
	return t
}

type applyFlags struct {
	queueFlags
	confirm, dry bool
	deadline     time.Duration
}

func newApply(a *app) *cobra.Command {
	var f applyFlags
	cmd := answering("apply PLAN.json --to SCHEDULER", func(cmd *cobra.Command, args []string, out format) error {
		p, err := data.Load(args[0], data.ReadPlan)
		if err != nil {
			return err
		}
		changes, err := f.run(cmd.Context(), a, p)
		if changes != nil || err == nil {
			err = cmp.Or(out.print(a.stdout, changes, changeTable(changes)), err)
		}
		return cmp.Or(err, unmade(changes))
	})
	f.add(cmd, "to")
	fl := cmd.Flags()
	fl.BoolVar(&f.confirm, "confirm", false, "make the changes")
	fl.BoolVar(&f.dry, "dry-run", false, "print the changes only (default)")
	fl.DurationVar(&f.deadline, "deadline", 5*time.Minute, "time for the queue to show a change")
	cmd.MarkFlagsMutuallyExclusive("confirm", "dry-run")
	return cmd
}

func (f applyFlags) run(ctx context.Context, a *app, p *data.Plan) ([]*apply.Change, error) {
	r := &apply.Runner{Deadline: f.deadline}
	c, err := f.load()
	if err != nil {
		return nil, err
	}
	if c != nil {
		held, err := operate.Guard(r, c, time.Now(), !f.confirm)
		if err != nil {
			return nil, err
		}
		defer held.Close()
	}
	s, err := openQueue(f.scheduler, f.namespaces, func(c queue.Command) error {
		if c.Answered {
			a.note("%s", commandLine(c))
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	r.Scheduler = s
	return r.Run(ctx, p, !f.confirm)
}

func commandLine(c queue.Command) string {
	text := strings.Join(c.Command, " ")
	for _, answer := range []string{c.Answer, c.Error} {
		if answer != "" {
			text += ": " + answer
		}
	}
	return data.Visible(text, 400)
}

func changeTable(changes []*apply.Change) *table {
	t := newTable("id,job,action,from,to,status,reason")
	for _, c := range changes {
		t.add(c.ID, c.Name, c.Action, plots.Nodes(c.From), plots.Nodes(c.To), c.Status, c.Reason)
	}
	return t
}

// unmade returns an error if a change is missing that could still be made.
func unmade(changes []*apply.Change) error {
	count := map[apply.Status]int{}
	for _, c := range changes {
		count[c.Status]++
	}
	var parts []string
	for _, s := range []apply.Status{apply.Failed, apply.RolledBack, apply.Stale, apply.Refused, apply.Postponed} {
		if count[s] > 0 {
			parts = append(parts, fmt.Sprintf("%d %s", count[s], s))
		}
	}
	if len(parts) == 0 {
		return nil
	}
	return fmt.Errorf("%d of %s not in the queue: %s", len(changes)-count[apply.Done]-count[apply.Already]-count[apply.Ended]-count[apply.Planned],
		english.Plural(len(changes), "change", ""), strings.Join(parts, ", "))
}

func newOperate(a *app) *cobra.Command {
	var once, confirm, dry, know, release bool
	cmd := command("operate CONFIG.yaml", func(cmd *cobra.Command, args []string) error {
		c, err := data.Load(args[0], data.ReadOperate)
		if err != nil {
			return err
		}
		if err := operate.CheckAllow(c); err != nil && !know {
			return err
		}
		return a.operate(cmd.Context(), c, once, confirm, release)
	})
	f := cmd.Flags()
	f.BoolVar(&once, "once", false, "make one turn")
	f.BoolVar(&confirm, "confirm", false, "make the changes")
	f.BoolVar(&dry, "dry-run", false, "print the changes only (default)")
	f.BoolVar(&know, "i-know", false, "allow that every job may be changed")
	f.BoolVar(&release, "release", false, "give held jobs back at their owners' size, and end")
	cmd.MarkFlagsMutuallyExclusive("confirm", "dry-run")
	return cmd
}

func (a *app) operate(ctx context.Context, c *data.Operate, once, confirm, release bool) error {
	dir := operate.Folder(c)
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	audit, err := operate.OpenAudit(dir, time.Now)
	if err != nil {
		return err
	}
	defer audit.Close()
	s, err := openQueue(c.Scheduler, c.Namespaces, audit.Command)
	if err != nil {
		return err
	}
	loop := &operate.Loop{Config: c, Scheduler: s, Confirm: confirm, Audit: audit, Now: time.Now,
		Plan: operate.Planner(c, time.Now)}
	if release {
		ids, err := loop.Release(ctx)
		a.note("%s held or resized in their queue by knee%s: %s", english.Plural(len(ids), "job", ""), map[bool]string{true: " and were released"}[confirm], strings.Join(ids, ", "))
		return err
	}
	if c.Metrics != "" {
		loop.Metrics = operate.NewMetrics()
		l, err := net.Listen("tcp", c.Metrics)
		if err != nil {
			return fmt.Errorf("serve /metrics: %w", err)
		}
		mux := http.NewServeMux()
		mux.Handle("/metrics", loop.Metrics.Handler())
		server := &http.Server{Handler: mux, ReadHeaderTimeout: 10 * time.Second}
		defer server.Close()
		go func() { _ = server.Serve(l) }() // ends with Close
	}
	failed := false
	err = loop.Run(ctx, once, func(out *operate.Outcome) { failed = a.tell(out) })
	if err == nil && once && failed {
		return errors.New("not every change of the turn was made")
	}
	return err
}

// tell prints the outcome of a turn, and reports whether a change failed.
func (a *app) tell(out *operate.Outcome) (failed bool) {
	mode := ""
	switch {
	case out.Closed != "":
		mode = ", nothing is changed: " + out.Closed
	case out.Dry:
		mode = ", dry run"
	}
	a.note("turn %d%s: %s, %d of them to plan; %s", out.Turn, mode, english.Plural(out.Jobs, "job", ""), out.Planned, out.Folder)
	a.warn(out.Warnings...)
	if out.Error != "" {
		a.warn(out.Error)
	}
	for _, u := range out.Updates {
		text := fmt.Sprintf("%s, predicted %s", seconds(u.Measured), between(u.Predicted, seconds))
		if u.Predicted.Mean == 0 {
			text = seconds(u.Measured) + ", of which its model knew nothing"
		}
		if u.Kind == learn.Borrowed {
			text = seconds(u.Measured) + ", which had no model; borrowed from " + cmp.Or(strings.Join(u.From, ", "), "nobody")
		}
		a.note("a step of %s (%s) takes %s: its model is now %s", u.Name, u.Config, text, u.Model)
	}
	for _, p := range out.Proposals {
		a.note("check %s (%s), %s: %s", p.Name, p.Job, p.Kind, p.Text)
	}
	for _, id := range out.Released {
		a.note("job %s: held by knee but no rule plans it; %s to the scheduler", id, map[bool]string{false: "released", true: "would be released"}[out.Dry])
	}
	for _, c := range out.Changes {
		failed = failed || c.Status == apply.Failed || c.Status == apply.RolledBack
	}
	if len(out.Changes) > 0 {
		_ = format("table").print(a.stdout, out.Changes, changeTable(out.Changes)) // the folder of the turn has it too
	}
	return failed
}
