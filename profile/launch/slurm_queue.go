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

// slurmQueue is the queue as last queried. One query answers for all trials, so
// that the load on the controller does not grow with their number.
type slurmQueue struct {
	every         time.Duration
	outageTimeout time.Duration

	mu      sync.Mutex
	reports map[string]slurmReport // latest on each job to query; zero before the first
	asking  bool
	asked   time.Time // when the last query began
	down    time.Time // when the controller stopped answering; zero if it answers
}

type slurmReport struct {
	job   slurm.Job
	known bool  // whether the controller knows the job
	err   error // no answer for outageTimeout
	asked time.Time
}

// look returns the latest report on a job, and queries again if that is due, or
// soon. It does not wait for the answer: steps are timed meanwhile.
func (q *slurmQueue) look(id string, soon bool) slurmReport {
	q.mu.Lock()
	defer q.mu.Unlock()
	r, watched := q.reports[id]
	if !watched {
		q.reports[id], q.asked = r, time.Time{}
	}
	if !q.asking && (soon || time.Since(q.asked) >= q.every) {
		q.asking, q.asked = true, time.Now()
		go q.query(slices.Sorted(maps.Keys(q.reports)), q.asked)
	}
	return r
}

func (q *slurmQueue) forget(id string) {
	q.mu.Lock()
	defer q.mu.Unlock()
	delete(q.reports, id)
}

func (q *slurmQueue) query(ids []string, asked time.Time) {
	jobs, err := slurm.Queue(context.Background(), ids)
	q.mu.Lock()
	defer q.mu.Unlock()
	q.asking = false
	switch {
	case err == nil:
		q.down = time.Time{}
	case q.down.IsZero():
		q.down = time.Now()
		return
	case time.Since(q.down) < q.outageTimeout:
		return // trials continue while a controller restarts
	default:
		err = fmt.Errorf("Slurm has not answered for %s: %w", q.outageTimeout, err)
	}
	for _, id := range ids {
		if _, watched := q.reports[id]; watched {
			job, known := jobs[id]
			q.reports[id] = slurmReport{job: job, known: known, err: err, asked: asked}
		}
	}
}
