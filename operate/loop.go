package operate

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"time"

	"knee/data"
	"knee/operate/apply"
	"knee/operate/learn"
	"knee/operate/queue"
)

// Loop operates a queue.
type Loop struct {
	Config    *data.Operate
	Scheduler queue.Scheduler
	// Plan makes a plan from a cluster.yaml and a jobs.yaml, in which models
	// have absolute paths.
	Plan    func(ctx context.Context, cluster, jobs string) (*data.Plan, error)
	Confirm bool // changes are made; else they are shown
	Fits    int  // most models that a turn fits; 0: 20, less: none
	Audit   *Audit
	Metrics *Metrics      // nil: none are kept
	Poll    time.Duration // between looks at the queue; 0: 2 s
	Now     func() time.Time
	Sleep   func(context.Context, time.Duration) error // nil: on the clock of this machine

	last time.Time // when the last turn began that read the queue
}

// poll is the time between looks at the queue: often enough for people, seldom
// enough for a loaded controller.
const poll = 2 * time.Second

// Outcome is the outcome of a turn.
type Outcome struct {
	Turn     int             `json:"turn"`
	At       time.Time       `json:"at"`
	Read     time.Time       `json:"read,omitzero"` // when the logs were read, from which forecasts count
	Folder   string          `json:"folder"`
	Closed   string          `json:"closed,omitempty"` // why nothing was changed
	Dry      bool            `json:"dry_run"`
	Jobs     int             `json:"jobs"`
	Planned  int             `json:"planned"` // jobs that the plan could change
	Changes  []*apply.Change `json:"changes"`
	Released []string        `json:"released,omitempty"` // ids of held jobs that no plan covers

	Updates   []learn.Update   `json:"models,omitempty"`    // models fitted to single jobs
	Proposals []learn.Proposal `json:"proposals,omitempty"` // for an operator; knee does not act on them
	Profiled  string           `json:"profiled,omitempty"`  // id of the job that is to be measured at twice its size

	Warnings []string `json:"warnings,omitempty"`
	Error    string   `json:"error,omitempty"`
}

// Folder is the folder of the turns of a configuration.
func Folder(c *data.Operate) string { return beside(c, c.Folder, "turns") }

// beside is a path of the configuration, which is relative to its file.
func beside(c *data.Operate, path, absent string) string {
	if path == "" {
		path = absent
	}
	if path == "" || filepath.IsAbs(path) {
		return path
	}
	return filepath.Join(filepath.Dir(c.Source.File), path)
}

// Rules are those of a configuration with absolute paths.
func Rules(c *data.Operate) ([]data.JobRule, error) {
	var out []data.JobRule
	for _, r := range c.Rules {
		var err error
		if r.Model != "" {
			if r.Model, err = filepath.Abs(beside(c, r.Model, "")); err != nil {
				return nil, err
			}
		}
		r.Log = beside(c, r.Log, "")
		out = append(out, r)
	}
	return out, nil
}

// Run makes a turn, and another after every interval until ctx is done, or one
// alone. Told is called with the outcome of each. A failed turn is reported and
// followed by the next.
func (l *Loop) Run(ctx context.Context, once bool, told func(*Outcome)) error {
	dir := Folder(l.Config)
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	held, err := lock(dir)
	if err != nil {
		return err
	}
	defer held.Close()
	for {
		began := l.Now()
		out, err := l.Turn(ctx)
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if l.Metrics != nil {
			l.Metrics.turn(out, err, l.Now().Sub(began))
		}
		if out != nil {
			told(out)
		}
		if once || out == nil {
			return err
		}
		if err := l.sleep(ctx, l.Config.Interval); err != nil {
			return err
		}
	}
}

func (l *Loop) sleep(ctx context.Context, d time.Duration) error {
	if l.Sleep != nil {
		return l.Sleep(ctx, d)
	}
	select {
	case <-time.After(d):
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// scheduler is the scheduler of the loop, with a deadline for its answers.
func (l *Loop) scheduler() queue.Scheduler {
	return queue.Bounded{Scheduler: l.Scheduler, Limit: l.Config.Deadline}
}

// Turn makes one turn. Outcome is nil if not even its folder could be made.
func (l *Loop) Turn(ctx context.Context) (*Outcome, error) {
	dir := Folder(l.Config)
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return nil, err
	}
	n, folder, err := nextTurn(dir)
	if err != nil {
		return nil, err
	}
	out := &Outcome{Turn: n, At: l.Now().UTC(), Folder: folder, Dry: !l.Confirm, Changes: []*apply.Change{}}
	l.Audit.turn = n
	err = l.turn(ctx, out)
	if err != nil {
		out.Error = err.Error()
	}
	return out, errors.Join(err, writeJSON(filepath.Join(folder, "outcome.json"), out), l.Audit.err)
}

// nextTurn makes the folder of the next turn, 000001 and on.
func nextTurn(dir string) (int, string, error) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return 0, "", err
	}
	n := 1
	for _, e := range entries {
		if k, err := strconv.Atoi(e.Name()); err == nil && k >= n {
			n = k + 1
		}
	}
	folder := filepath.Join(dir, fmt.Sprintf("%06d", n))
	return n, folder, os.Mkdir(folder, 0o755)
}

func (l *Loop) runner(g guard, st *state) *apply.Runner {
	every := l.Poll
	if every == 0 {
		every = poll
	}
	return &apply.Runner{Scheduler: l.scheduler(), Allowed: g.movable, MaxChanges: l.Config.MaxChanges, Poll: every,
		Looks: int(l.Config.Deadline/every) + 1, Sleep: l.Sleep,
		Before: func(c apply.Change) error { return errors.Join(l.Audit.err, st.note(c.ID, g.now)) }}
}

// Release gives every job that knee holds back to the scheduler, and every one
// that waits in the queue of another the size its owner requested, and returns
// their ids. Dry, it releases none.
func (l *Loop) Release(ctx context.Context) ([]string, error) {
	held, err := lock(Folder(l.Config))
	if err != nil {
		return nil, err
	}
	defer held.Close()
	snap, err := l.scheduler().Read(ctx)
	if err != nil {
		return nil, err
	}
	var ids []string
	var failed []error
	for _, j := range snap.Jobs {
		if !j.HeldByUs && (!j.InPlace || len(j.Nodes) > 0 || j.Workers == j.Requested) {
			continue
		}
		if l.Confirm {
			if err := l.scheduler().Start(ctx, j, nil); err != nil {
				failed = append(failed, fmt.Errorf("release job %s: %w", j.ID, err))
				continue
			}
		}
		ids = append(ids, j.ID)
	}
	return ids, errors.Join(failed...)
}

// release gives held jobs that no plan covers any more, since their rule is
// gone, back to the scheduler.
func (l *Loop) release(ctx context.Context, rows []queue.Row, g guard, out *Outcome) error {
	for _, r := range rows {
		if !r.HeldByUs || r.Model != "" || len(r.Nodes) > 0 || g.movable(r.Job) != "" {
			continue
		}
		if !out.Dry {
			if err := l.scheduler().Start(ctx, r.Job, nil); err != nil {
				return fmt.Errorf("release job %s: %w", r.ID, err)
			}
		}
		out.Released = append(out.Released, r.ID)
	}
	return nil
}
