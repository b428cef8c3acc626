package tiresias

import (
	"slices"

	"knee/allocate"
)

// never is a time that does not come.
const never = 1 << 62

// job is one gang. Times are in seconds, service in GPU-seconds.
type job struct {
	at        int // in the state
	gpus      int64
	submit    int64
	executed  int64 // seconds it has run
	remaining int64
	running   bool
	queue     int // of the discretized policies
	rank      float64
}

// discipline is what tells the policies apart.
type discipline interface {
	// arrive, leave and account keep the books of a job that is submitted,
	// done, or was just brought up to date; account is called for every job,
	// in order of arrival, after arrive and leave.
	arrive(j *job)
	leave(j *job)
	account(j *job, ran bool)
	// order lists the runnable jobs in the order in which they are offered
	// GPUs; it may sort runnable in place, which lasts.
	order(runnable []*job) []*job
	// settled is told once who runs, and says when to look again, [never]
	// if only at the next submission or completion.
	settled(now int64) int64
}

// published is a policy of the published program: at every event, everyone
// competes for all GPUs anew. A job that does not fit is passed over, or with
// blocks holds up those behind it.
type published struct {
	discipline
	blocks   bool
	known    map[string]*job
	runnable []*job // submitted and not done
	wake     int64
}

// Wake is when a running job may have used up its queue.
func (p *published) Wake(allocate.State, allocate.Assignment) float64 { return float64(p.wake) }

// Allocate implements [allocate.Policy].
func (p *published) Allocate(s allocate.State) (allocate.Assignment, error) {
	p.update(s)
	a := allocate.Assignment{Choice: slices.Repeat([]int{allocate.None}, len(s.Jobs))}
	free, blocked := int64(s.Cluster.Slots()), false
	for _, j := range p.order(p.runnable) {
		if j.running = j.gpus <= free && !blocked; j.running {
			free -= j.gpus
			a.Choice[j.at] = 0
		}
		blocked = blocked || p.blocks && !j.running
	}
	p.wake = p.settled(int64(s.Now))
	return a, nil
}

// update lets go who is done, takes in who is new and brings the others up to
// date.
func (p *published) update(s allocate.State) {
	before := p.known
	p.known = map[string]*job{}
	for i := range s.Jobs {
		x := &s.Jobs[i]
		j := before[x.Name]
		if j == nil {
			j = &job{gpus: int64(x.Requested), submit: int64(x.Submitted)}
		}
		p.known[x.Name] = j
		j.at, j.executed, j.remaining = i, int64(x.History.Ran), int64(x.Remaining)
	}
	p.runnable = slices.DeleteFunc(p.runnable, func(j *job) bool {
		gone := j.at >= len(s.Jobs) || p.known[s.Jobs[j.at].Name] != j
		if gone {
			p.leave(j)
		}
		return gone
	})
	for i := range s.Jobs {
		if j := p.known[s.Jobs[i].Name]; before[s.Jobs[i].Name] == nil {
			p.runnable = append(p.runnable, j)
			p.arrive(j)
		}
	}
	for _, j := range p.runnable {
		p.account(j, j.running)
	}
}
