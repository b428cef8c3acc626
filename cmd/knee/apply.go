package main

import (
	"cmp"
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/dustin/go-humanize/english"
	"github.com/spf13/cobra"

	"knee/data"
	"knee/operate"
	"knee/operate/apply"
	"knee/operate/queue"
)

type applyFlags struct {
	queueFlags
	confirm, dry bool
	deadline     time.Duration
}

func newApply(a *app) *cobra.Command {
	var f applyFlags
	var out format
	cmd := &cobra.Command{
		Use:   "apply PLAN.json --to SCHEDULER",
		Short: "Carry a plan out on a live queue, by the ids of its jobs",
		Long: `apply compares a plan of knee allocate with the queue and says what it would
change; --confirm makes the changes. Jobs are found by the scheduler's ids.

Nothing is submitted or deleted. A running job is stopped and starts again with
its owner's script or pod template at its new size and place, after every new
place was checked to be free. A change that the queue does not show within
--deadline is undone. Jobs that were changed since the plan was made are left
alone; with --config only what the operate.yaml allows is changed.

The exit code is 0 if the queue is as the plan wants it, or would be.`,
		Example: `  knee apply plan.json --to slurm
  knee apply plan.json --to slurm --confirm
  knee apply plan.json --to kubernetes --config operate.yaml --confirm -o json`,
		RunE: func(cmd *cobra.Command, args []string) error {
			p, err := data.LoadPlan(args[0])
			if err != nil {
				return err
			}
			changes, err := f.run(cmd.Context(), a, p)
			if changes != nil {
				err = cmp.Or(out.print(a.stdout, changes, changeTable(changes)), err)
			}
			return cmp.Or(err, unmade(changes))
		},
	}
	f.add(cmd, "to")
	fl := cmd.Flags()
	fl.BoolVar(&f.confirm, "confirm", false, "make the changes")
	fl.BoolVar(&f.dry, "dry-run", false, "print the changes only (default)")
	fl.DurationVar(&f.deadline, "deadline", 5*time.Minute, "time for the queue to show a change")
	cmd.MarkFlagsMutuallyExclusive("confirm", "dry-run")
	formatFlag(cmd, &out)
	return cmd
}

func (f applyFlags) run(ctx context.Context, a *app, p *data.Plan) ([]*apply.Change, error) {
	r := &apply.Runner{Deadline: f.deadline}
	c, err := f.load()
	if err != nil {
		return nil, err
	}
	if c != nil {
		r.MaxChanges = c.MaxChanges
		if r.Allowed, err = operate.Allowed(c, time.Now()); err != nil {
			return nil, err
		}
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

func changeTable(changes []*apply.Change) table {
	t := newTable("id,job,action,from,to,status,reason")
	for _, c := range changes {
		t.add(c.ID, c.Name, c.Action, nodesText(c.From), nodesText(c.To), c.Status, c.Reason)
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
