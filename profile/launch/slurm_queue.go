package launch

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	"knee/internal/slurm"
)

// slurmQueue queries the queue for all trials at once, so that the load on the
// controller does not grow with their number. It runs while any job is watched.
type slurmQueue struct {
	every         time.Duration
	outageTimeout time.Duration
	kick          chan struct{}

	mu       sync.Mutex
	watchers map[string]chan slurmReport
	running  bool
	down     time.Time // when the controller stopped answering; zero if it answers
}

type slurmReport struct {
	job   slurm.Job
	known bool  // whether the controller knows the job
	err   error // no answer for outageTimeout
	asked time.Time
}

// watch returns a channel of the latest report on a job, and ends the watch.
func (q *slurmQueue) watch(id string) (<-chan slurmReport, func()) {
	reports := make(chan slurmReport, 1)
	q.mu.Lock()
	defer q.mu.Unlock()
	q.watchers[id] = reports
	if !q.running {
		q.running = true
		go q.run()
	}
	q.lookNow()
	return reports, func() {
		q.mu.Lock()
		defer q.mu.Unlock()
		if q.watchers[id] == reports {
			delete(q.watchers, id)
		}
		q.lookNow() // run returns if no watcher is left
	}
}

// lookNow requests a query before the next tick.
func (q *slurmQueue) lookNow() {
	select {
	case q.kick <- struct{}{}:
	default:
	}
}

// run queries until no job is watched.
func (q *slurmQueue) run() {
	tick := time.NewTicker(q.every)
	defer tick.Stop()
	for {
		select {
		case <-tick.C:
		case <-q.kick:
		}
		q.mu.Lock()
		ids := slices.Sorted(maps.Keys(q.watchers))
		if len(ids) == 0 {
			q.running = false
			q.mu.Unlock()
			return
		}
		q.mu.Unlock()
		asked := time.Now()
		jobs, err := slurm.Queue(context.Background(), ids)
		q.tell(ids, asked, jobs, err)
	}
}

func (q *slurmQueue) tell(ids []string, asked time.Time, jobs map[string]slurm.Job, err error) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if err == nil {
		q.down = time.Time{}
	} else if q.down.IsZero() {
		q.down = time.Now()
	}
	if err != nil {
		if time.Since(q.down) < q.outageTimeout {
			return // trials continue while a controller restarts
		}
		err = fmt.Errorf("Slurm has not answered for %s: %w", q.outageTimeout, err)
	}
	for _, id := range ids {
		reports, ok := q.watchers[id]
		if !ok {
			continue
		}
		select {
		case <-reports: // an older report that nobody has read
		default:
		}
		job, known := jobs[id]
		reports <- slurmReport{job: job, known: known, err: err, asked: asked}
	}
}
