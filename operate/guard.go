package operate

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"time"

	"knee/data"
	"knee/operate/apply"
	"knee/operate/queue"
)

// CheckAllow refuses a configuration that would let every job be changed.
func CheckAllow(c *data.Operate) error {
	if len(c.Allow) > 0 && !slices.ContainsFunc(c.Allow, data.Match.Everything) {
		return nil
	}
	return &data.InputError{Source: data.Source{File: c.Source.File, Column: "allow"}, Found: "that every job may be changed",
		Want: "what may be changed, such as [{partition: gpu, user: ann}], or --i-know"}
}

// guard decides which jobs may be changed.
type guard struct {
	config *data.Operate
	state  *state
	now    time.Time
}

// allowed reports whether a job is on the allow-list; without a list every job is.
func (g guard) allowed(j queue.Job) bool {
	return len(g.config.Allow) == 0 || slices.ContainsFunc(g.config.Allow, func(m data.Match) bool { return queue.Matches(m, j) })
}

// movable returns why a job may not be changed, empty if it may.
func (g guard) movable(j queue.Job) string {
	if !g.allowed(j) {
		return "it is not on the allow-list"
	}
	at, changed := g.state.Changed[j.ID]
	since := max(g.now.Sub(at), 0) // 0 if the clock was set back
	if recent := changed && since < g.config.BetweenMoves; recent && j.State == queue.Pending && !j.HeldByUs {
		return "it did not start when knee tried, within between_moves"
	}
	if j.State != queue.Running {
		return ""
	}
	rule := queue.RuleFor(g.config.Rules, j)
	switch {
	case !j.Requeue:
		return "it may not be requeued"
	case rule == nil || !rule.Checkpoint:
		return "no rule says that it continues from a checkpoint"
	case changed && since < g.config.BetweenMoves:
		return fmt.Sprintf("it was changed %s ago", since.Round(time.Second))
	}
	return ""
}

// Movable returns a function that says why a job may not be changed, empty if it may: by
// the allow-list and rules of the configuration, and by the job's last change.
func Movable(c *data.Operate, now time.Time) (func(queue.Job) string, error) {
	st, err := readState(Folder(c))
	return guard{c, st, now}.movable, err
}

// Guard makes a run keep to a configuration: to its limits, to maintenance and the pause
// file. Unless dry, the run is alone until the result is closed, as a loop is, and its
// changes are recorded for the loop.
func Guard(r *apply.Runner, c *data.Operate, now time.Time, dry bool) (io.Closer, error) {
	var held io.Closer = io.NopCloser(nil)
	if !dry {
		var err error
		if held, err = lock(Folder(c)); err != nil {
			return nil, err
		}
	}
	st, err := readState(Folder(c))
	if err != nil {
		return nil, errors.Join(err, held.Close())
	}
	g := guard{c, st, now}
	closed := g.closed(beside(c, c.PauseFile))
	r.MaxChanges = c.MaxChanges
	r.Allowed = func(j queue.Job) string { return cmp.Or(closed, g.movable(j)) }
	r.Before = func(c apply.Change) error {
		st.Changed[c.ID] = now.UTC()
		return st.write()
	}
	return held, nil
}

// closed returns why nothing may be changed now, empty if it may.
func (g guard) closed(pauseFile string) string {
	for _, w := range g.config.Maintenance {
		if !g.now.Before(w.From) && g.now.Before(w.To) {
			return "maintenance until " + w.To.Format(time.RFC3339)
		}
	}
	if pauseFile == "" {
		return ""
	}
	// A pause file that cannot be checked may exist.
	if _, err := os.Stat(pauseFile); !os.IsNotExist(err) {
		return "paused by " + pauseFile
	}
	return ""
}

// reserve drains the nodes of reservations that are active or begin within the horizon.
func reserve(snap *queue.Snapshot, now time.Time, horizon time.Duration) {
	for _, r := range snap.Reservations {
		if !r.End.After(now) || r.Start.After(now.Add(horizon)) {
			continue
		}
		for i := range snap.Cluster.Nodes {
			if slices.Contains(r.Nodes, snap.Cluster.Nodes[i].Name) {
				snap.Cluster.Nodes[i].Drained = true
			}
		}
	}
}
