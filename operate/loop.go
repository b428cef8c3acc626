package operate

import (
	"cmp"
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

// Loop plans for a queue and applies the plans, turn by turn.
type Loop struct {
	Config    *data.Operate
	Scheduler queue.Scheduler
	// Plan makes a plan from cluster.yaml and jobs.yaml, where models have absolute paths.
	Plan    func(ctx context.Context, cluster, jobs string) (*data.Plan, error)
	Confirm bool // apply the changes; false: only list them
	Fits    int  // most models fitted in a turn; 0: 20, negative: none
	Audit   *Audit
	Metrics *Metrics // nil: none
	Now     func() time.Time
	Sleep   apply.Sleep

	last time.Time // start of the last turn that read the queue
}

type Outcome struct {
	Turn     int             `json:"turn"`
	At       time.Time       `json:"at"`
	Read     time.Time       `json:"read,omitzero"` // when the logs were read; forecasts count from here
	Folder   string          `json:"folder"`
	Closed   string          `json:"closed,omitempty"` // why nothing was changed
	Dry      bool            `json:"dry_run"`
	Jobs     int             `json:"jobs"`
	Planned  int             `json:"planned"` // jobs that the plan could change
	Changes  []*apply.Change `json:"changes"`
	Released []string        `json:"released,omitempty"` // ids of held jobs that no plan covers

	Updates   []learn.Update   `json:"models,omitempty"`    // models fitted to single jobs
	Proposals []learn.Proposal `json:"proposals,omitempty"` // for an operator; knee does not act on them
	Profiled  string           `json:"profiled,omitempty"`  // id of the job to be measured at twice its size

	Warnings []string `json:"warnings,omitempty"`
	Error    string   `json:"error,omitempty"`
}

// Folder is the folder of all turns, by default turns beside the configuration.
func Folder(c *data.Operate) string { return beside(c, cmp.Or(c.Folder, "turns")) }

// beside is a path relative to the file of the configuration, unless it is empty.
func beside(c *data.Operate, path string) string {
	if path == "" {
		return ""
	}
	return c.Source.Beside(path)
}

// Rules returns the rules of a configuration with the paths of their models and logs
// resolved.
func Rules(c *data.Operate) ([]data.JobRule, error) {
	var out []data.JobRule
	for _, r := range c.Rules {
		var err error
		if r.Model != "" {
			if r.Model, err = filepath.Abs(beside(c, r.Model)); err != nil {
				return nil, err
			}
		}
		r.Log = beside(c, r.Log)
		out = append(out, r)
	}
	return out, nil
}

// Run makes one turn, or, unless once is set, turns with Config.Interval between
// them until ctx is done. told is called with each outcome, that of a failed turn
// too. The error is that of the only turn, of ctx, or of the folder.
func (l *Loop) Run(ctx context.Context, once bool, told func(*Outcome)) error {
	held, err := lock(Folder(l.Config))
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
		if err := l.Sleep.For(ctx, l.Config.Interval); err != nil {
			return err
		}
	}
}

// Turn makes one turn. The outcome is nil if its folder could not be made.
func (l *Loop) Turn(ctx context.Context) (*Outcome, error) {
	n, folder, err := nextTurn(Folder(l.Config))
	if err != nil {
		return nil, err
	}
	out := &Outcome{Turn: n, At: l.Now().UTC(), Folder: folder, Dry: !l.Confirm, Changes: []*apply.Change{}}
	l.Audit.turn, l.Audit.err = n, nil
	err = l.turn(ctx, out)
	if err != nil {
		out.Error = err.Error()
	}
	return out, errors.Join(err, writeJSON(filepath.Join(folder, "outcome.json"), out), l.Audit.err)
}

// nextTurn makes the folder of the next turn, from 000001.
func nextTurn(dir string) (int, string, error) {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return 0, "", err
	}
	entries, err := os.ReadDir(dir)
	if err != nil {
		return 0, "", err
	}
	n := 1
	for _, e := range entries {
		if k, err := strconv.Atoi(e.Name()); err == nil {
			n = max(n, k+1)
		}
	}
	folder := filepath.Join(dir, fmt.Sprintf("%06d", n))
	return n, folder, os.Mkdir(folder, 0o755)
}

// Release lets the scheduler start every job that knee holds, and sets waiting
// jobs that knee resizes in place to the size their owners requested. It returns
// their ids. Unless Confirm is set it changes nothing.
func (l *Loop) Release(ctx context.Context) ([]string, error) {
	held, err := lock(Folder(l.Config))
	if err != nil {
		return nil, err
	}
	defer held.Close()
	snap, err := l.Scheduler.Read(ctx)
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
			if err := l.Scheduler.Start(ctx, j, nil); err != nil {
				failed = append(failed, fmt.Errorf("release job %s: %w", j.ID, err))
				continue
			}
		}
		ids = append(ids, j.ID)
	}
	return ids, errors.Join(failed...)
}

// release lets the scheduler start jobs that knee holds and that have no model,
// such as after their rule was removed: no plan would start them.
func (l *Loop) release(ctx context.Context, rows []queue.Row, g guard, out *Outcome) error {
	for _, r := range rows {
		if !r.HeldByUs || r.Model != "" || len(r.Nodes) > 0 || g.movable(r.Job) != "" {
			continue
		}
		if !out.Dry {
			if err := l.Scheduler.Start(ctx, r.Job, nil); err != nil {
				return fmt.Errorf("release job %s: %w", r.ID, err)
			}
		}
		out.Released = append(out.Released, r.ID)
	}
	return nil
}
