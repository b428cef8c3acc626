package apply

import (
	"fmt"
	"slices"
	"strings"

	"knee/data"
	"knee/operate/queue"

	"github.com/dustin/go-humanize/english"
)

// Status is the outcome of the change of one job.
type Status string

// The statuses of a change.
const (
	Planned    Status = "planned"     // to be made
	Done       Status = "done"        // made, and confirmed by the queue
	Already    Status = "already"     // nothing to do: the job has it already
	Ended      Status = "ended"       // the job has left the queue
	Stale      Status = "stale"       // the job was changed since the plan was made, and is left alone
	Refused    Status = "refused"     // not allowed or not possible; nothing was done
	Postponed  Status = "postponed"   // more changes than a run may make, or another change failed
	RolledBack Status = "rolled back" // failed, and the job has its former nodes or place in the queue
	Failed     Status = "failed"      // failed; the job waits in the queue
)

// gone is the reason of Ended.
const gone = "the queue does not hold it any more"

// Change is the change of one job that a plan asks for.
type Change struct {
	ID     string           `json:"id"`
	Name   string           `json:"name"`
	Action data.Action      `json:"action"`
	From   []data.NodeShare `json:"from"` // nodes of the job when the plan was compared
	To     []data.NodeShare `json:"to"`
	Status Status           `json:"status"`
	Reason string           `json:"reason,omitempty"` // for the status

	job    queue.Job // as it was when the plan was compared
	absent int       // reads of the queue without the job
}

func (c *Change) set(s Status, format string, args ...any) {
	c.Status, c.Reason = s, fmt.Sprintf(format, args...)
}

// Pending reports whether the change is still to be made.
func (c *Change) Pending() bool { return c.Status == Planned }

// places reports whether the change is still to be made and needs free nodes.
func (c *Change) places() bool { return c.Pending() && !c.job.InPlace }

// Diff compares a plan with the queue. allowed returns why a job may not be
// changed, empty if it may; nil allows all. Entries that keep a job, or that could
// not be planned, are left out, unless knee holds the job.
func Diff(p *data.Plan, snap *queue.Snapshot, s queue.Scheduler, allowed func(queue.Job) string) []*Change {
	var out []*Change
	for _, entry := range p.Jobs {
		c := &Change{ID: entry.ID, Name: entry.Name, Action: entry.Action, To: entry.Placement, Status: Planned}
		job := snap.Find(entry.ID)
		if job != nil {
			c.job, c.From = *job, job.Nodes
		}
		stays := entry.Action == data.Keep || entry.Unplanned
		if stays && (job == nil || !job.HeldByUs) || job != nil && job.InPlace && len(c.To)+len(c.From) == 0 {
			continue
		}
		out = append(out, c)
		switch {
		case entry.ID == "":
			c.set(Refused, "the plan has no id for it; make it from what knee jobs writes, or submit it with knee export")
		case job == nil:
			c.set(Ended, gone)
		case c.reached(*job):
			c.Status = Already
		case !job.HeldByUs && !data.SameNodes(job.Nodes, entry.Was):
			c.set(Stale, "it runs on %s, not on %s as when the plan was made", where(job.Nodes), where(entry.Was))
		case !job.HeldByUs && job.State == queue.Stopping:
			c.set(Stale, "it is ending")
		case job.Fixed != "":
			c.set(Refused, "%s", job.Fixed)
		case job.Held && !job.HeldByUs:
			c.set(Refused, "it is held, and not by knee")
		case job.InPlace && len(c.To) == 0:
			c.set(Refused, "knee does not decide when it runs")
		case len(job.Nodes) > 0 && !job.Requeue:
			c.set(Refused, "it cannot be stopped and started again: it has no requeue")
		default:
			why := ""
			if allowed != nil {
				why = allowed(*job)
			}
			if why == "" && len(c.To) > 0 {
				why = s.Check(*job, c.To)
			}
			if why != "" {
				c.set(Refused, "%s", why)
			}
		}
	}
	return out
}

// reached reports whether a job has what the change wants.
func (c *Change) reached(job queue.Job) bool {
	if c.job.InPlace {
		n := queue.Workers(c.To)
		return n > 0 && job.Workers == n && (len(job.Nodes) == 0 || queue.Workers(job.Nodes) == n)
	}
	if !c.Action.Runs() {
		return job.Held && len(job.Nodes) == 0
	}
	return job.State == queue.Running && covers(c.To, job.Nodes)
}

// covers reports whether has is as many workers as want in all, on no other nodes.
// The split among the nodes may differ: Kubernetes is given only the nodes.
func covers(want, has []data.NodeShare) bool {
	if queue.Workers(want) != queue.Workers(has) {
		return false
	}
	return !slices.ContainsFunc(has, func(s data.NodeShare) bool {
		return !slices.ContainsFunc(want, func(w data.NodeShare) bool { return w.Node == s.Node })
	})
}

// free refuses changes, the last of the plan first, until the rest fit the free GPUs of
// the nodes and the limits of the scheduler. What only makes room for refused changes is
// postponed.
func free(changes []*Change, snap *queue.Snapshot) {
	nodes := map[string]data.Node{}
	for _, n := range snap.Cluster.Nodes {
		nodes[n.Name] = n
	}
	for _, c := range changes {
		for _, s := range c.To {
			if n, ok := nodes[s.Node]; c.places() && (!ok || n.Drained) {
				c.set(Refused, "node %s takes nothing new", s.Node)
			}
		}
	}
	for refuseLast(changes, unused(changes, snap)) || refuseBeyond(changes, snap, nodes) || postponeIdle(changes, snap, nodes) {
	}
}

// unused is the GPUs of each node that the queue leaves after the changes.
func unused(changes []*Change, snap *queue.Snapshot) map[string]int {
	left := map[string]int{}
	for _, n := range snap.Cluster.Nodes {
		left[n.Name] = n.GPUs
	}
	for _, j := range snap.Jobs {
		use(left, j.Nodes, 1)
	}
	for _, c := range changes {
		if c.places() {
			if j := snap.Find(c.ID); j != nil {
				use(left, j.Nodes, -1)
			}
			use(left, c.To, 1)
		}
	}
	return left
}

// postponeIdle postpones a change of a running job that frees nodes of a refused one, and
// reports whether there was one: it does not grow, and no other change needs it.
func postponeIdle(changes []*Change, snap *queue.Snapshot, nodes map[string]data.Node) bool {
	for _, c := range changes {
		j := snap.Find(c.ID)
		if !c.places() || c.Action == data.Grow || j == nil || len(j.Nodes) == 0 || slices.ContainsFunc(j.Nodes, func(s data.NodeShare) bool { return nodes[s.Node].Drained }) {
			continue
		}
		refused := slices.IndexFunc(changes, func(r *Change) bool {
			return r.Status == Refused && slices.ContainsFunc(r.To, func(s data.NodeShare) bool {
				return workersOn(j.Nodes, s.Node) > workersOn(c.To, s.Node)
			})
		})
		if refused < 0 {
			continue
		}
		before := *c
		c.set(Postponed, "it makes room for %s, which is refused", changes[refused].Name)
		left := unused(changes, snap)
		_, _, beyond := exceeded(changes, snap, nodes)
		if beyond == nil && !slices.ContainsFunc(j.Nodes, func(s data.NodeShare) bool { return left[s.Node] < 0 }) {
			return true
		}
		*c = before
	}
	return false
}

func workersOn(nodes []data.NodeShare, name string) (n int) {
	for _, s := range nodes {
		if s.Node == name {
			n += s.Workers
		}
	}
	return n
}

// refuseBeyond refuses the last change under a limit that would be exceeded, and
// reports whether there was one.
func refuseBeyond(changes []*Change, snap *queue.Snapshot, nodes map[string]data.Node) bool {
	l, used, last := exceeded(changes, snap, nodes)
	if last == nil {
		return false
	}
	what := "GPU"
	if l.Running {
		what = "job"
	}
	last.set(Refused, "%s may have %s and would have %d", l.Name, english.Plural(l.Most, what, ""), used)
	return true
}

// exceeded returns a limit that the changes would exceed, what its jobs would use, and
// the last change that uses some of it; nil if there is none.
func exceeded(changes []*Change, snap *queue.Snapshot, nodes map[string]data.Node) (l queue.Limit, used int, last *Change) {
	for _, l = range snap.Limits {
		used, last = 0, nil
		for _, j := range snap.Jobs {
			used += l.Used(j.ID, j.GPUType, j.Nodes)
		}
		for _, c := range changes {
			j := snap.Find(c.ID)
			if !c.places() || j == nil || !l.Jobs[c.ID] {
				continue
			}
			used -= l.Used(c.ID, j.GPUType, j.Nodes)
			if len(c.To) > 0 {
				used += l.Used(c.ID, nodes[c.To[0].Node].GPUType, c.To)
				last = c
			}
		}
		if used > l.Most && last != nil {
			return l, used, last
		}
	}
	return l, 0, nil
}

// use takes k times the workers of nodes from left.
func use(left map[string]int, nodes []data.NodeShare, k int) {
	for _, s := range nodes {
		left[s.Node] -= k * s.Workers
	}
}

// refuseLast refuses the last change to a node with too few free GPUs, and
// reports whether there was one.
func refuseLast(changes []*Change, left map[string]int) bool {
	for i := len(changes) - 1; i >= 0; i-- {
		c := changes[i]
		if !c.places() {
			continue
		}
		for _, s := range c.To {
			if left[s.Node] < 0 {
				c.set(Refused, "node %s does not have %s free for it", s.Node, english.Plural(s.Workers, "GPU", ""))
				return true
			}
		}
	}
	return false
}

// where formats nodes and their workers as "n1×2, n2×4".
func where(nodes []data.NodeShare) string {
	if len(nodes) == 0 {
		return "no node"
	}
	var texts []string
	for _, s := range nodes {
		texts = append(texts, fmt.Sprintf("%s×%d", s.Node, s.Workers))
	}
	return strings.Join(texts, ", ")
}
