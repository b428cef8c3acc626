package apply

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"knee/data"
	"knee/operate/queue"

	"github.com/dustin/go-humanize/english"
)

// Runner applies plans to a queue.
type Runner struct {
	Scheduler  queue.Scheduler
	Allowed    func(queue.Job) string // why a job may not be changed, empty if it may; nil: every one may
	MaxChanges int                    // of one run; 0: no limit
	Deadline   time.Duration          // how long to wait for the effect of a command
	// Before is called with every change before the first is made, so that what it
	// records survives a crash. An error ends the run. May be nil.
	Before func(Change) error
	Sleep  Sleep // between reads; times are never compared, so setting the clock has no effect
}

// poll is the time between two reads of the queue: short enough for people, long
// enough for a loaded controller.
const poll = 2 * time.Second

// Run applies a plan; dry, it only lists the changes. Each change has its own status; the
// error is of the whole run.
func (r *Runner) Run(ctx context.Context, p *data.Plan, dry bool) ([]*Change, error) {
	snap, err := r.Scheduler.Read(ctx)
	if err != nil {
		return nil, err
	}
	changes := Diff(p, snap, r.Scheduler, r.Allowed)
	free(changes, snap)
	r.limit(changes, snap)
	free(changes, snap) // a postponed change frees no nodes
	if dry {
		return changes, nil
	}
	for _, c := range changes {
		if c.Pending() && r.Before != nil {
			if err := r.Before(*c); err != nil {
				return changes, err
			}
		}
	}
	if err := r.stop(ctx, changes); err != nil {
		return changes, err
	}
	return changes, r.start(ctx, changes)
}

// limit postpones changes beyond MaxChanges. Jobs that knee holds come first and
// are not counted, since they wait because of knee. The others are made in the
// order of the plan, if their nodes are free without the postponed changes.
func (r *Runner) limit(changes []*Change, snap *queue.Snapshot) {
	var open, chosen []*Change
	for _, c := range changes {
		switch {
		case c.Pending() && c.job.HeldByUs:
			chosen = append(chosen, c)
		case c.Pending():
			open = append(open, c)
		}
	}
	if r.MaxChanges <= 0 || len(open) <= r.MaxChanges {
		return
	}
	for _, c := range open {
		c.set(Postponed, "a run makes at most %s", english.Plural(r.MaxChanges, "change", ""))
	}
	for n := 0; n < r.MaxChanges; n++ {
		i := slices.IndexFunc(open, func(c *Change) bool { return !c.Pending() && fits(append(slices.Clone(chosen), c), snap) })
		if i < 0 {
			return
		}
		open[i].Status, open[i].Reason = Planned, ""
		chosen = append(chosen, open[i])
	}
}

// fits reports whether the nodes of these changes are free if no other change is made.
func fits(changes []*Change, snap *queue.Snapshot) bool {
	var trial []*Change
	for _, c := range changes {
		t := *c
		t.Status = Planned
		trial = append(trial, &t)
	}
	free(trial, snap)
	return !slices.ContainsFunc(trial, func(c *Change) bool { return !c.Pending() })
}

// stop holds every job to be changed and waits until running ones have left their
// nodes. Waiting jobs are held first: they could start on nodes that others leave.
func (r *Runner) stop(ctx context.Context, changes []*Change) error {
	var held []*Change
	failed := false
	for _, running := range []bool{false, true} {
		for _, c := range changes {
			if !c.places() || running != (len(c.From) > 0) {
				continue
			}
			if failed && !c.job.HeldByUs { // its nodes may not become free
				c.set(Postponed, "another change of this run failed")
				continue
			}
			if !c.job.HeldByUs { // else an interrupted run has held it
				if err := r.Scheduler.Hold(ctx, c.job); err != nil {
					if ctx.Err() != nil {
						return err
					}
					c.set(Failed, "hold: %v", err)
					failed = true
					continue
				}
			}
			held = append(held, c)
		}
	}
	if err := r.leave(ctx, held); err != nil {
		return err
	}
	for _, c := range held {
		if c.Pending() && !c.Action.Runs() {
			c.Status = Done
		}
	}
	return nil
}

// leave waits until held jobs have left their nodes.
func (r *Runner) leave(ctx context.Context, held []*Change) error {
	late, err := r.wait(ctx, held, func(_ *Change, j queue.Job) bool { return j.HeldByUs && len(j.Nodes) == 0 })
	for _, c := range late {
		c.set(Failed, "%s; it is held, and the next run starts it", cmp.Or(c.Reason, "it has not left "+where(c.From)+" in time"))
	}
	return err
}

// start starts the jobs whose nodes are free, verifies that they run there, and
// rolls back the rest.
func (r *Runner) start(ctx context.Context, changes []*Change) error {
	snap, err := r.look(ctx)
	if err != nil {
		return err
	}
	var open []*Change
	for _, c := range changes {
		switch {
		case c.Pending():
			open = append(open, c)
		case c.Status == Failed && snap.Find(c.ID) == nil: // it could not be held because it had ended
			c.set(Ended, gone)
		}
	}
	free(open, snap)
	var started, back []*Change
	for _, c := range open {
		if !c.Pending() { // its nodes are not free any more
			if c.job.HeldByUs && len(c.From) == 0 {
				continue // nothing was done to it
			}
			c.Status = Planned
			c.Reason = c.Reason + " after it was stopped"
			back = append(back, c)
			continue
		}
		job := c.job
		if now := snap.Find(c.ID); now != nil {
			job = *now
		}
		if err := r.Scheduler.Start(ctx, job, c.To); err != nil {
			if ctx.Err() != nil {
				return err
			}
			c.Reason = fmt.Sprintf("start: %v", err)
			back = append(back, c)
			continue
		}
		started = append(started, c)
	}
	late, err := r.wait(ctx, started, (*Change).reached)
	if err != nil {
		return err
	}
	for _, c := range late {
		if c.Reason = "it does not run on " + where(c.To) + " in time"; c.job.InPlace {
			c.Reason = fmt.Sprintf("its scheduler does not show %s in time", english.Plural(queue.Workers(c.To), "worker", ""))
		}
	}
	for _, c := range started {
		if c.Status == Ended {
			if well, how := r.Scheduler.Ended(ctx, c.job); !well {
				c.set(Failed, "it ended as soon as it was started: %s", how)
			}
		}
		if c.Pending() && c.Reason == "" {
			c.Status = Done
		}
	}
	return r.rollBack(ctx, append(back, late...))
}

// rollBack gives jobs their former nodes if those are free, else their place in the
// queue. A job that waits, perhaps with a part of its nodes, is held before.
func (r *Runner) rollBack(ctx context.Context, changes []*Change) error {
	if len(changes) == 0 {
		return nil
	}
	snap, err := r.look(ctx)
	if err != nil {
		return err
	}
	var held []*Change
	for _, c := range changes {
		j := snap.Find(c.ID)
		switch {
		case j == nil:
			c.set(Ended, gone)
		case c.reached(*j):
			c.Status, c.Reason = Done, ""
		case c.job.InPlace:
			if err := r.Scheduler.Start(ctx, *j, c.From); err != nil {
				c.set(Failed, "%s; then %v", c.Reason, err)
			} else {
				c.set(RolledBack, "%s", c.Reason)
			}
		case j.State == queue.Running:
			c.set(Failed, "%s; it runs on %s", c.Reason, where(j.Nodes))
		case j.HeldByUs:
			held = append(held, c)
		default:
			if err := r.Scheduler.Hold(ctx, *j); err != nil {
				c.set(Failed, "%s; then hold: %v", c.Reason, err)
				continue
			}
			held = append(held, c)
		}
	}
	if err := r.leave(ctx, held); err != nil {
		return err
	}
	return r.restore(ctx, held)
}

// restore starts held jobs on their former nodes, or anywhere if those are not free.
func (r *Runner) restore(ctx context.Context, held []*Change) error {
	snap, err := r.look(ctx)
	if err != nil {
		return err
	}
	var tried []*Change
	for _, c := range held {
		j := snap.Find(c.ID)
		switch {
		case !c.Pending():
			continue
		case j == nil:
			c.set(Ended, gone)
			continue
		}
		was := &Change{ID: c.ID, To: c.From, Status: Planned}
		if free([]*Change{was}, snap); !was.Pending() {
			was.To = nil
		}
		if err := r.Scheduler.Start(ctx, *j, was.To); err != nil {
			c.set(Failed, "%s; then start: %v", c.Reason, err)
			continue
		}
		tried = append(tried, c)
	}
	isBack := func(c *Change, j queue.Job) bool {
		return j.State == queue.Running || len(c.From) == 0 && !j.HeldByUs
	}
	late, err := r.wait(ctx, tried, isBack)
	for _, c := range late {
		c.set(Failed, "%s; it was released and waits in the queue", c.Reason)
	}
	for _, c := range tried {
		if c.Pending() {
			c.set(RolledBack, "%s", c.Reason)
		}
	}
	return err
}

// wait reads the queue until shows holds for every change, within the deadline, and
// returns the changes for which it does not. A job that two reads lack has ended.
func (r *Runner) wait(ctx context.Context, changes []*Change, shows func(*Change, queue.Job) bool) ([]*Change, error) {
	if len(changes) == 0 {
		return nil, nil
	}
	_ = r.read(ctx, func(snap *queue.Snapshot) bool {
		changes = slices.DeleteFunc(slices.Clone(changes), func(c *Change) bool {
			j := snap.Find(c.ID)
			switch {
			case j != nil:
				return shows(c, *j)
			case c.absent < 1: // an answer may be incomplete
				c.absent++
				return false
			}
			c.set(Ended, gone)
			return true
		})
		return len(changes) == 0
	})
	return changes, ctx.Err()
}

// look reads the queue, and repeats a read that fails until the deadline.
func (r *Runner) look(ctx context.Context) (snap *queue.Snapshot, err error) {
	if err = r.read(ctx, func(s *queue.Snapshot) bool { snap = s; return true }); err != nil {
		err = fmt.Errorf("the queue does not answer: %w", err)
	}
	return snap, err
}

// read reads the queue until done is true of an answer or the deadline has passed.
func (r *Runner) read(ctx context.Context, done func(*queue.Snapshot) bool) error {
	for left := r.Deadline; ; left -= poll {
		snap, err := r.Scheduler.Read(ctx)
		if ctx.Err() != nil || err == nil && done(snap) || left < poll {
			return errors.Join(err, ctx.Err())
		}
		if err := r.Sleep.For(ctx, poll); err != nil {
			return err
		}
	}
}

// Sleep waits, in real time if it is nil. It fails if ctx ends before.
type Sleep func(context.Context, time.Duration) error

// For waits so long.
func (s Sleep) For(ctx context.Context, d time.Duration) error {
	if s != nil {
		return s(ctx, d)
	}
	select {
	case <-time.After(d):
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
