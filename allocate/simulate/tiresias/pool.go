package tiresias

import (
	"slices"

	"knee/allocate/simulate"
)

// discipline is what tells the preemptive policies apart.
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

// pool is the state of a preemptive run.
type pool struct {
	discipline
	gpus     int64
	waiting  []*job // not yet submitted, by time
	runnable []*job // submitted and not done
	used     func(simulate.Usage)
}

// run goes from event to event: at each, jobs that are done leave, new ones
// come in, and everyone competes for all GPUs anew.
func (p *pool) run() {
	wake := int64(never)
	for len(p.waiting) > 0 || len(p.runnable) > 0 {
		submit, done := p.next()
		now := min(submit, done)
		if now == never {
			return // the rest can never fit; refused before
		}
		jump := now > wake
		if jump {
			// Look again before anything happens; what happens then stays
			// for later.
			now = wake
		}
		if !jump && done == now {
			p.retire(now)
		}
		if !jump && submit == now {
			p.admit(now)
		}
		p.update(now)
		p.decide(now)
		wake = p.settled(now)
	}
}

// next is the time of the next submission and of the earliest completion.
func (p *pool) next() (submit, done int64) {
	submit, done = never, never
	if len(p.waiting) > 0 {
		submit = p.waiting[0].submit
	}
	for _, j := range p.runnable {
		if j.running {
			done = min(done, j.checked+j.remaining())
		}
	}
	return submit, done
}

func (p *pool) retire(now int64) {
	p.runnable = slices.DeleteFunc(p.runnable, func(j *job) bool {
		if !j.running || j.checked+j.remaining() > now {
			return false
		}
		j.executed, j.end = j.duration, now
		p.leave(j)
		return true
	})
}

func (p *pool) admit(now int64) {
	for len(p.waiting) > 0 && p.waiting[0].submit == now {
		j := p.waiting[0]
		p.waiting = p.waiting[1:]
		j.checked = now
		p.runnable = append(p.runnable, j)
		p.arrive(j)
	}
}

func (p *pool) update(now int64) {
	for _, j := range p.runnable {
		if j.running {
			j.executed += now - j.checked
		}
		j.checked = now
		p.account(j, j.running)
	}
}

// decide hands out all GPUs from nothing. A job that does not fit is passed
// over.
func (p *pool) decide(now int64) {
	free := p.gpus
	u := simulate.Usage{At: float64(now)}
	for _, j := range p.order(p.runnable) {
		if j.gpus > free {
			j.running = false
			u.Waiting++
			continue
		}
		free -= j.gpus
		j.begin(now)
		u.Running++
	}
	if u.GPUs = int(p.gpus - free); p.used != nil {
		p.used(u)
	}
}
