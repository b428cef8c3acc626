package launch

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
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
	since    time.Time // it may have waited
	began    time.Time // when it was seen to run; zero before
	hurry    int       // looks at the queue requested since the script ended
	stuck    time.Time // since when the job has waited for what will not come
}

// maxHurry is how many looks at the queue a job that is leaving may ask for,
// one each slurmTail.
const maxHurry = 20

var errBegunTwice = errors.New("the job was requeued")

// follow streams what the job prints until it has ended.
func (j *slurmJob) follow(ctx context.Context, obs chan<- Observation) error {
	s := j.launcher
	reports, stop := s.queue.watch(j.id)
	defer stop()
	j.out = &tail{path: j.trial.Log, label: s.Spec.Srun, out: output{heard: newHeard(s.Parser, j.trial, obs), name: "it"}}
	look := time.NewTicker(slurmTail)
	defer look.Stop()
	for {
		select {
		case <-ctx.Done():
			return j.abort(ctx, context.Cause(ctx))
		case <-look.C:
			if err := j.read(ctx); err != nil {
				return j.abort(ctx, err)
			}
		case r := <-reports:
			ended, err := j.see(r)
			if err != nil {
				return j.abort(ctx, err)
			}
			if ended {
				return j.end(ctx, r)
			}
		}
	}
}

// read takes in what the job has printed since the last look.
func (j *slurmJob) read(ctx context.Context) error {
	err := j.out.read(ctx)
	if j.out.begun > 0 {
		j.begin()
	}
	// The job is leaving: the next look at the queue need not be awaited, but
	// one that hangs in its epilogue must not be waited for without end either.
	if j.out.ended && j.hurry < maxHurry {
		j.hurry++
		j.launcher.queue.lookNow()
	}
	switch {
	case err != nil:
		return &Failure{Status: data.Failed, Exit: -1, Detail: err.Error()}
	case j.out.begun > 1:
		return j.preempted(errBegunTwice.Error())
	}
	return nil
}

// begin notes that the job runs, once.
func (j *slurmJob) begin() {
	if !j.began.IsZero() {
		return
	}
	j.began = time.Now()
	j.release()
	if j.trial.Began != nil {
		j.trial.Began(j.began)
	}
}

// see takes in a look at the queue; the error ends the trial.
func (j *slurmJob) see(r slurmReport) (ended bool, err error) {
	switch {
	case r.err != nil:
		return false, r.err
	case !r.known || r.job.Ended():
		return true, nil
	case !r.job.Waiting():
		j.begin()
	case j.began.IsZero():
		return false, j.waiting(r.job)
	case r.asked.After(j.began): // or its output was quicker than the queue
		return false, j.preempted(errBegunTwice.Error())
	}
	return false, nil
}

// preempted is the failure of a trial that the cluster took its nodes from.
func (j *slurmJob) preempted(why string) error {
	return &Failure{Status: data.Failed, Exit: -1, Preempted: true, Detail: fmt.Sprintf("job %s: %s", j.id, why)}
}

// stuckTimeout is how long a job may wait for a reason that will not pass
// before it is given up: controllers give such reasons for a moment while
// they start.
const stuckTimeout = 30 * time.Second

// waiting gives up a job that waits for what will not come (`man squeue`, JOB
// REASON CODES).
func (j *slurmJob) waiting(q slurm.Job) error {
	if limit := j.launcher.Spec.MaxWait; limit > 0 && time.Since(j.since) > limit {
		return &Failure{Status: data.Queued, Exit: -1, Detail: fmt.Sprintf("job %s waited for nodes for %s, as long as max_wait allows; Slurm says: %s",
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
	return &Failure{Status: status, Exit: -1, Detail: fmt.Sprintf("job %s can never run, says Slurm: %s", j.id, q.Reason)}
}

func (j *slurmJob) abort(ctx context.Context, why error) error {
	if err := j.launcher.cancel(ctx, j.id); err != nil {
		return errors.Join(why, err)
	}
	return why
}

// end reads the last of a job's output and says how it ended.
func (j *slurmJob) end(ctx context.Context, r slurmReport) error {
	end, err := slurm.HowEnded(context.WithoutCancel(ctx), j.id)
	if err != nil {
		// The controller is away, or has forgotten the job: the queue's word
		// and that of the script must do.
		end = slurm.End{State: r.job.State, Exit: j.out.exit}
	}
	// A shared file system may show the last lines a little later than the
	// queue shows the end. A job that was killed has no last line.
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

// verdict turns the end of a job into the failure of the trial, nil if all
// is well.
func (j *slurmJob) verdict(end slurm.End) error {
	if j.out.ended {
		end.Exit = j.out.exit // Slurm's may be that of what cleans up
	}
	failed := func(status data.Status, detail string) error {
		return &Failure{Status: status, Exit: end.Exit, Detail: fmt.Sprintf("job %s: %s%s", j.id, detail, because(j.out.out.last))}
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
		// srun's own exit code is the largest of all tasks, those included
		// that it killed because one had failed.
		who, how, _ := strings.Cut(j.out.task, ": task")
		name += ", " + who
		end.Exit = taskExit(how, end.Exit)
	}
	if f := classify([]rankEnd{{name: name, exit: end.Exit, last: j.out.out.last, oom: j.out.out.oom}}); f != nil {
		return f
	}
	return j.out.out.heard.verdict(j.out.out.last)
}

// taskExit returns the exit code behind srun's words for the end of a task,
// "s 0-3: Exited with exit code 1" or " 0: Killed".
func taskExit(words string, otherwise int) int {
	_, how, _ := strings.Cut(words, ": ")
	if code, ok := strings.CutPrefix(how, "Exited with exit code "); ok {
		if n, err := strconv.Atoi(code); err == nil {
			return n
		}
	}
	for _, s := range []struct {
		how    string
		signal int
	}{{"Killed", 9}, {"Out Of Memory", 9}, {"Segmentation fault", 11}, {"Aborted", 6}, {"Bus error", 7}, {"Terminated", 15}} {
		if strings.HasPrefix(how, s.how) {
			return 128 + s.signal
		}
	}
	return otherwise
}
