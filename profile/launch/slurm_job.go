package launch

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"syscall"
	"time"

	"knee/data"
	"knee/internal/slurm"
)

type slurmJob struct {
	launcher *Slurm
	trial    Trial
	id       string
	release  func() // lets another trial into the queue
	out      *tail
	since    time.Time // the job may wait in the queue
	looked   time.Time // when its output was last read
	began    time.Time // when it was first known to run; zero before
	hurry    int       // queue queries requested since the script ended
	stuck    time.Time // since when Slurm gives a reason that will not pass
}

// maxHurry is how many early queries of the queue an ending job may request.
const maxHurry = 20

const begunTwice = "the job was requeued"

func (j *slurmJob) follow(ctx context.Context, obs chan<- Observation) error {
	s := j.launcher
	defer s.queue.forget(j.id)
	j.out = &tail{path: j.trial.Log, label: s.Spec.Srun, out: output{heard: newHeard(s.Parser, j.trial, obs), name: "it"}}
	look := time.Tick(min(slurmTail, s.Poll))
	for {
		select {
		case <-ctx.Done():
			return j.abort(ctx, context.Cause(ctx))
		case <-look:
		}
		if err := j.read(ctx); err != nil {
			return j.abort(ctx, err)
		}
		// After the script's end the queue is asked early, but not for ever: epilogues may hang.
		soon := j.out.ended && j.hurry < maxHurry
		if soon {
			j.hurry++
		}
		r := s.queue.look(j.id, soon)
		if r.asked.IsZero() {
			continue
		}
		ended, err := j.see(r)
		if err != nil {
			return j.abort(ctx, err)
		}
		if ended {
			return j.end(ctx, r)
		}
	}
}

func (j *slurmJob) read(ctx context.Context) error {
	before := cmp.Or(j.looked, j.since)
	j.looked = time.Now()
	err := j.out.read(ctx)
	if j.out.begun > 0 {
		j.begin(before) // its first step may have been read with its beginning
	}
	switch {
	case err != nil:
		return &Failure{Status: data.Failed, Detail: err.Error()}
	case j.out.begun > 1:
		return j.preempted(begunTwice)
	}
	return nil
}

// begin notes that the job has begun, at the earliest at a time.
func (j *slurmJob) begin(at time.Time) {
	if !j.began.IsZero() {
		return
	}
	j.began = time.Now()
	j.release()
	if j.trial.Began != nil {
		j.trial.Began(at)
	}
}

// see handles a report of the queue; an error ends the trial.
func (j *slurmJob) see(r slurmReport) (ended bool, err error) {
	switch {
	case r.err != nil:
		return false, r.err
	case !r.known || r.job.Ended():
		return true, nil
	case r.job.State == "SUSPENDED" || r.job.State == "STOPPED": // the step it is in has no time
		return false, j.preempted("the job was suspended")
	case !r.job.Waiting():
		j.begin(time.Now())
	case j.began.IsZero():
		return false, j.waiting(r.job)
	case r.asked.After(j.began): // otherwise the report is older than its output
		return false, j.preempted(begunTwice)
	}
	return false, nil
}

func (j *slurmJob) preempted(why string) error {
	return &Failure{Status: data.Failed, Preempted: true, Detail: fmt.Sprintf("job %s: %s", j.id, why)}
}

// stuckTimeout is long, as a starting controller briefly gives reasons that seem permanent.
const stuckTimeout = 30 * time.Second

// waiting is the failure of a job past MaxWait, or with a permanent reason to wait.
func (j *slurmJob) waiting(q slurm.Job) error {
	if limit := j.launcher.Spec.MaxWait; limit > 0 && time.Since(j.since) > limit {
		return &Failure{Status: data.Queued, Detail: fmt.Sprintf("job %s waited for nodes for %s, as long as max_wait allows; Slurm says: %s",
			j.id, data.FormatDuration(limit), q.Reason)}
	}
	status := data.Failed
	switch q.Reason {
	case "PartitionConfig", "PartitionNodeLimit", "BadConstraints", "AssocMaxGRESPerJob", "AssocMaxNodePerJobLimit", "AssocMaxCpuPerJobLimit",
		"QOSMaxGRESPerJob", "QOSMaxNodePerJobLimit", "QOSMaxCpuPerJobLimit":
		status = data.Infeasible
	case "PartitionTimeLimit", "InvalidAccount", "InvalidQOS", "AccountNotAllowed", "QOSNotAllowed", "JobHeldUser", "JobHeldAdmin", "DependencyNeverSatisfied":
	default:
		j.stuck = time.Time{}
		return nil
	}
	if j.stuck.IsZero() {
		j.stuck = time.Now()
	}
	if time.Since(j.stuck) < min(stuckTimeout, 10*j.launcher.Poll) {
		return nil
	}
	return &Failure{Status: status, Detail: fmt.Sprintf("job %s can never run, says Slurm: %s", j.id, q.Reason)}
}

func (j *slurmJob) abort(ctx context.Context, why error) error {
	if err := j.launcher.cancel(ctx, j.id); err != nil {
		return errors.Join(why, err)
	}
	return why
}

func (j *slurmJob) end(ctx context.Context, r slurmReport) error {
	end, err := slurm.HowEnded(context.WithoutCancel(ctx), j.id)
	if err != nil {
		// Without an answer the queue's state and the script's exit code will do.
		end = slurm.End{State: r.job.State, Exit: j.out.exit}
	}
	// A shared file system may lag behind the queue. A killed job has no end line.
	for deadline := time.Now().Add(3 * time.Second); ; time.Sleep(slurmTail) {
		if err := j.read(ctx); err != nil {
			return err
		}
		if j.out.ended || time.Now().After(deadline) || ctx.Err() != nil || (end.State != "COMPLETED" && end.State != "FAILED" && end.State != "") {
			break
		}
	}
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	return j.verdict(end)
}

func (j *slurmJob) verdict(end slurm.End) error {
	if j.out.ended {
		end.Exit = j.out.exit // Slurm's may be that of the epilogue
	}
	failed := func(status data.Status, detail string) error {
		return &Failure{Status: status, Detail: fmt.Sprintf("job %s: %s%s", j.id, detail, said(": ", j.out.out.last))}
	}
	switch {
	case (slurm.Job{State: end.State}).Preempted():
		return j.preempted(end.State)
	case end.State == "OUT_OF_MEMORY":
		return failed(data.OOM, "OUT_OF_MEMORY")
	case end.State == "TIMEOUT" || end.State == "DEADLINE":
		return failed(data.Timeout, "it reached its time limit in Slurm ("+end.State+")")
	case end.State == "CANCELLED":
		return failed(data.Failed, "it was cancelled, and not by knee")
	case end.State == "" && !j.out.ended:
		return failed(data.Failed, "Slurm no longer knows it, and its output does not say how it ended")
	}
	name := "job " + j.id
	if j.out.task != "" && end.Exit != 0 {
		// srun exits with the largest code, also of tasks that it killed after the first failure.
		who, how, _ := strings.Cut(j.out.task, ": task")
		name += ", " + who
		end.Exit = taskExit(how, end.Exit)
	}
	if f := classify([]rankEnd{{name: name, exit: end.Exit, last: j.out.out.last, oom: j.out.out.oom}}); f != nil {
		return f
	}
	return j.out.out.heard.verdict(j.out.out.last)
}

// taskExit reads srun's message, "s 0-3: Exited with exit code 1" or " 0: Killed".
func taskExit(words string, otherwise int) int {
	_, how, _ := strings.Cut(words, ": ")
	if code, ok := strings.CutPrefix(how, "Exited with exit code "); ok {
		if n, err := strconv.Atoi(code); err == nil {
			return n
		}
	}
	if strings.HasPrefix(how, "Out Of Memory") {
		return exitKilled
	}
	for s := syscall.Signal(1); s < 32; s++ {
		if strings.HasPrefix(strings.ToLower(how), s.String()) {
			return 128 + int(s)
		}
	}
	return otherwise
}
