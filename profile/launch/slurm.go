package launch

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"knee/data"
	"knee/internal/slurm"
)

const (
	slurmPoll          = 5 * time.Second        // between queries of the queue
	slurmOutageTimeout = 10 * time.Minute       // how long the controller may not answer
	slurmTail          = 250 * time.Millisecond // between reads of a trial's output
	slurmLeave         = time.Minute            // how long a cancelled job may take to leave the queue
)

// Slurm runs each trial as a batch job. The job's script is written beside the trial's log,
// which is the job's output file and must be in a folder shared by this machine and the nodes.
//
// With Spec.Srun the ranks get the environment of [Local]: workers fill the nodes of the
// placement in order, parameter servers are distributed round-robin over the same nodes.
// Without it the script runs the command once, on the first node.
//
// All trials share one query of the queue every Poll. A controller that does not answer is
// asked again for up to OutageTimeout; running trials are measured meanwhile, since steps are
// read from their output. If a node fails or a job is preempted, Slurm does not requeue it:
// the trial ends with [Failure.Preempted].
type Slurm struct {
	Spec          data.SlurmSpec
	Parser        Parser
	Poll          time.Duration // 0 means Spec.Poll, or else 5 s
	OutageTimeout time.Duration // 0 means 10 min

	once  sync.Once
	queue *slurmQueue
	turns chan struct{} // capacity: how many trials may wait in the queue at once
}

func (s *Slurm) prepare() {
	s.once.Do(func() {
		s.Poll = cmp.Or(s.Poll, s.Spec.Poll, slurmPoll)
		s.OutageTimeout = cmp.Or(s.OutageTimeout, slurmOutageTimeout)
		s.queue = &slurmQueue{every: s.Poll, outageTimeout: s.OutageTimeout, reports: map[string]slurmReport{}}
		s.turns = make(chan struct{}, max(1, s.Spec.Waiting))
	})
}

// Launch implements [Launcher]. A trial with a Handle is followed from the beginning of its
// output; others are submitted once fewer than max(1, Spec.Waiting) wait in the queue.
func (s *Slurm) Launch(ctx context.Context, t Trial, obs chan<- Observation) error {
	s.prepare()
	if t.Log == "" {
		return errors.New("the launcher slurm needs a log file for each trial, in a folder that the nodes share")
	}
	var err error
	if t.Log, err = filepath.Abs(t.Log); err != nil {
		return fmt.Errorf("name the log of the trial: %w", err)
	}
	j := &slurmJob{launcher: s, trial: t, id: t.Handle, since: time.Now(), release: func() {}}
	defer func() { j.release() }()
	if j.id == "" {
		if t.Waiting != nil {
			t.Waiting()
		}
		select { // until another job may enter the queue
		case s.turns <- struct{}{}:
			j.release = sync.OnceFunc(func() { <-s.turns })
		case <-ctx.Done():
			return context.Cause(ctx)
		}
		if j.id, err = s.submit(ctx, t); err != nil {
			return err
		}
	}
	j.since = time.Now()
	return j.follow(ctx, obs)
}

func (s *Slurm) submit(ctx context.Context, t Trial) (id string, err error) {
	if err := slurm.Installed(); err != nil {
		return "", err
	}
	name := slurmName(t)
	script, err := writeSlurmScript(s.Spec, t, name)
	if err != nil {
		return "", err
	}
	if id, err = s.sbatch(ctx, script, name); err != nil {
		return "", err
	}
	if t.Submitted == nil {
		return id, nil
	}
	if err := t.Submitted(id); err != nil {
		// If knee died, an unrecorded job would keep running unnoticed.
		return "", errors.Join(fmt.Errorf("record job %s: %w", id, err), s.cancel(ctx, id))
	}
	return id, nil
}

// sbatch submits a script, and retries while the controller does not answer: after a search
// for the job by its unique name, as only the answer may have been lost.
func (s *Slurm) sbatch(ctx context.Context, script, name string) (string, error) {
	for start, wait := time.Now(), time.Second; ; wait = min(2*wait, 30*time.Second) {
		// Cancelling must not kill sbatch between submission and answer.
		id, err := slurm.Submit(context.WithoutCancel(ctx), script)
		switch {
		case err == nil:
			return id, nil
		case slurm.Impossible(err):
			return "", &Failure{Status: data.Infeasible, Detail: oneLine(err.Error())}
		case !slurm.Unreachable(err):
			return "", fmt.Errorf("submit %s: %w", script, err)
		case time.Since(start) > s.OutageTimeout:
			return "", fmt.Errorf("submit %s: no answer for %s: %w", script, s.OutageTimeout, err)
		}
		select {
		case <-ctx.Done():
		case <-time.After(wait):
		}
		if ids, err := slurm.Named(context.WithoutCancel(ctx), name); err == nil && len(ids) > 0 {
			return ids[0], nil
		}
		if ctx.Err() != nil {
			return "", context.Cause(ctx)
		}
	}
}

// cancel waits until a job has left the queue. An error means that it may still run.
func (s *Slurm) cancel(ctx context.Context, id string) error {
	ctx = context.WithoutCancel(ctx)
	var err error
	for start, wait := time.Now(), time.Second; ; wait = min(2*wait, 30*time.Second) {
		if err = slurm.Cancel(ctx, id); err == nil {
			break
		}
		if !slurm.Unreachable(err) || time.Since(start) > s.OutageTimeout {
			return fmt.Errorf("job %s could not be cancelled and may still run (scancel %s): %w", id, id, err)
		}
		time.Sleep(wait)
	}
	defer s.queue.forget(id)
	for cancelled := time.Now(); time.Since(cancelled) < slurmLeave; time.Sleep(slurmTail) {
		switch r := s.queue.look(id, true); {
		case r.asked.Before(cancelled):
		case r.err != nil:
			return fmt.Errorf("job %s was cancelled, but may still run (scancel %s): %w", id, id, r.err)
		case !r.known || r.job.Ended():
			return nil
		}
	}
	return fmt.Errorf("job %s is still in the queue %s after scancel %s", id, slurmLeave, id)
}

// slurmQueue is the queue as last queried, by one query for all trials.
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

// look returns the latest report on a job, and queries again, without waiting, if due.
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
	if delete(q.reports, id); len(q.reports) == 0 {
		q.down = time.Time{} // nobody asks until the next job: that is no outage
	}
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
