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
	"knee/operate"
	"knee/operate/apply"
	"knee/operate/learn"
)

func newOperate(a *app) *cobra.Command {
	var once, confirm, dry, know, release bool
	cmd := &cobra.Command{
		Use:   "operate CONFIG.yaml",
		Short: "Read a queue, plan, and apply, again and again",
		Long: `operate reads the jobs of a scheduler, plans as knee allocate does, and says what
it would change, turn after turn; --confirm makes the changes.

CONFIG.yaml says which jobs may be changed, by which models they are planned, how
many changes a turn makes, and when nothing is changed. A configuration that lets
every job be changed needs --i-know. A job measured outside the interval of its
model gets a model of its own. Stragglers and slow jobs are named, not changed.

Every turn leaves its inputs, plan and outcome in a folder, and a line in
audit.jsonl for each command with its answer. operate may be killed at any time
and started again.`,
		Example: `  knee operate operate.yaml --once
  knee operate operate.yaml --confirm
  knee operate operate.yaml --release --confirm`,
		RunE: func(cmd *cobra.Command, args []string) error {
			c, err := data.LoadOperate(args[0])
			if err != nil {
				return err
			}
			if err := operate.CheckAllow(c); err != nil && !know {
				return err
			}
			return a.operate(cmd.Context(), c, once, confirm, release)
		},
	}
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
