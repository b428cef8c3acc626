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

// slurmQueue looks at the queue for all trials at once, so that the load on
// the controller does not grow with the number of trials. It runs while
// anything is watched.
type slurmQueue struct {
	every         time.Duration
	outageTimeout time.Duration
	kick          chan struct{}

	mu       sync.Mutex
	watchers map[string]chan slurmReport
	running  bool
	down     time.Time // since when the controller has not answered; zero if it has
}

type slurmReport struct {
	job   slurm.Job
	known bool  // whether the controller knows the job
	err   error // the controller has not answered for too long
	asked time.Time
}

// watch returns a channel that holds the latest report on a job, and what
// ends the watching.
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
		q.lookNow() // ends the watch if nothing is left
	}
}

// lookNow asks for a look before the next is due.
func (q *slurmQueue) lookNow() {
	select {
	case q.kick <- struct{}{}:
	default:
	}
}

// run looks until nothing is watched any more.
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
			return // controllers are restarted; trials continue meanwhile
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
