// Package slurm runs the commands of Slurm and parses their output. Its errors distinguish
// an unreachable controller, where repeating helps, from a refusal; it repeats nothing itself.
package slurm

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"time"
)

// commandTimeout limits a command. squeue seeks a controller for about 10 s.
const commandTimeout = time.Minute

// CommandError is the error of a Slurm command that failed.
type CommandError struct {
	Command string // "sbatch"
	Text    string // what it printed on standard error, on one line
	Err     error
}

func (e *CommandError) Error() string {
	if e.Text == "" {
		return fmt.Sprintf("%s: %v", e.Command, e.Err)
	}
	return e.Command + ": " + e.Text
}

func (e *CommandError) Unwrap() error { return e.Err }

// contains reports whether the command printed a text, given in lower case.
func (e *CommandError) contains(texts ...string) bool {
	said := strings.ToLower(e.Text)
	return slices.ContainsFunc(texts, func(t string) bool { return strings.Contains(said, t) })
}

// Unreachable reports that no whole answer came; a submission may have been accepted.
func Unreachable(err error) bool {
	e, ok := errors.AsType[*CommandError](err)
	if !ok {
		return false
	}
	return errors.Is(err, context.DeadlineExceeded) ||
		e.contains("unable to contact slurm", "socket timed out", "connection refused", "connection timed out", "connection reset",
			"zero bytes were transmitted", "communication connection failure", "communications error", "message receive failure",
			"slurm temporarily unable to accept job", "unable to establish controller", "insane message length", "slurmctld is not responding")
}

// Impossible reports whether sbatch refused a job that no nodes could ever run.
func Impossible(err error) bool {
	var e *CommandError
	return errors.As(err, &e) && e.Command == "sbatch" &&
		e.contains("requested node configuration is not available", "more processors requested than permitted",
			"node count specification invalid", "requested gres option unsupported", "invalid generic resource (gres) specification",
			"memory specification can not be satisfied")
}

// ofUser reports whether a variable is a user's setting that changes what Slurm's commands
// print, or which jobs they list or cancel.
func ofUser(variable string) bool {
	return slices.ContainsFunc([]string{"SQUEUE_", "SCANCEL_", "SACCT_", "SLURM_TIME_FORMAT="}, func(p string) bool { return strings.HasPrefix(variable, p) })
}

func run(ctx context.Context, name string, args ...string) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, commandTimeout)
	defer cancel()
	cmd := exec.CommandContext(ctx, name, args...)
	cmd.Env = append(slices.DeleteFunc(os.Environ(), ofUser), "LC_ALL=C")
	cmd.WaitDelay = time.Second
	var out, complaint bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &complaint
	err := cmd.Run()
	if err == nil {
		return out.String(), nil
	}
	if ctx.Err() != nil {
		err = fmt.Errorf("no answer within %s: %w", commandTimeout, ctx.Err())
	}
	if errors.Is(err, exec.ErrNotFound) {
		err = fmt.Errorf("the command is not on PATH; is this a login node of a Slurm cluster? %w", err)
	}
	return out.String(), &CommandError{Command: name, Text: strings.Join(strings.Fields(complaint.String()), " "), Err: err}
}

// Installed returns an error unless Slurm's commands for jobs are on PATH.
func Installed() error {
	for _, name := range []string{"sbatch", "squeue", "scontrol", "scancel"} {
		if _, err := exec.LookPath(name); err != nil {
			return fmt.Errorf("%s is not on PATH; is this a login node of a Slurm cluster? %w", name, err)
		}
	}
	return nil
}

// fieldsOf returns the fields KEY=VALUE of a line that scontrol --oneliner printed.
func fieldsOf(line string) map[string]string {
	fields := map[string]string{}
	for f := range strings.FieldsSeq(line) {
		key, value, _ := strings.Cut(f, "=")
		fields[key] = value
	}
	return fields
}

// Job is one job of the queue.
type Job struct {
	ID     string
	State  string // RUNNING, PENDING, COMPLETED, …: `man squeue`, JOB STATE CODES
	Reason string // why it waits
}

// Waiting reports whether the job has not started, or will start again.
func (j Job) Waiting() bool {
	return slices.Contains([]string{"PENDING", "CONFIGURING", "REQUEUED", "REQUEUE_FED", "REQUEUE_HOLD", "SPECIAL_EXIT", "RESV_DEL_HOLD"}, j.State)
}

// Ended reports whether no process is left; a job in COMPLETING still has some.
func (j Job) Ended() bool {
	return slices.Contains([]string{"COMPLETED", "FAILED", "CANCELLED", "TIMEOUT", "DEADLINE", "OUT_OF_MEMORY", "NODE_FAIL", "BOOT_FAIL", "PREEMPTED", "REVOKED"}, j.State)
}

// Preempted reports that the cluster ended the job, not itself or its limits; it may run again.
func (j Job) Preempted() bool {
	return slices.Contains([]string{"NODE_FAIL", "BOOT_FAIL", "PREEMPTED", "REVOKED", "REQUEUED", "REQUEUE_HOLD", "REQUEUE_FED"}, j.State)
}

// Queue returns the jobs of the given ids that the controller knows, also those that ended
// less than MinJobAge ago, by columns that squeue prints in every version: its JSON is of
// the whole queue in 22.05, too expensive for a call every few seconds.
func Queue(ctx context.Context, ids []string) (map[string]Job, error) {
	out, err := run(ctx, "squeue", "--noheader", "--states=all", "--jobs="+strings.Join(ids, ","), "--format=%i|%T|%r")
	if e, ok := errors.AsType[*CommandError](err); ok && e.contains("invalid job id") {
		return map[string]Job{}, nil // the error if it knows none of them
	}
	if err != nil {
		return nil, err
	}
	return parseQueue(out)
}

func parseQueue(out string) (map[string]Job, error) {
	jobs := map[string]Job{}
	for line := range strings.Lines(out) {
		line = strings.TrimSpace(line)
		if line == "" {
			continue
		}
		f := strings.SplitN(line, "|", 3)
		if len(f) != 3 || !isID(f[0]) || f[1] == "" {
			return nil, fmt.Errorf("squeue: found %.120q, want JOBID|STATE|REASON", line)
		}
		jobs[f[0]] = Job{ID: f[0], State: f[1], Reason: f[2]}
	}
	return jobs, nil
}

// Named returns the ids of this user's jobs of a name that have not ended.
func Named(ctx context.Context, name string) ([]string, error) {
	out, err := run(ctx, "squeue", "--noheader", "--me", "--name="+name, "--format=%i")
	if err != nil {
		return nil, err
	}
	return strings.Fields(out), nil
}

func isID(s string) bool {
	return s != "" && len(s) < 20 && strings.Trim(s, "0123456789") == ""
}

// Submit submits a batch script and returns the id of its job.
func Submit(ctx context.Context, script string) (id string, err error) {
	out, err := run(ctx, "sbatch", "--parsable", script)
	if err != nil {
		return "", err
	}
	lines := strings.Fields(out)
	if len(lines) > 0 {
		id, _, _ = strings.Cut(lines[len(lines)-1], ";") // "ID;CLUSTER" in a federation
	}
	if !isID(id) {
		return "", fmt.Errorf("sbatch: found %.120q, want a job id", out)
	}
	return id, nil
}

// Cancel ends a job. It is no error if the job has ended or does not exist.
func Cancel(ctx context.Context, id string) error {
	_, err := run(ctx, "scancel", id)
	if e, ok := errors.AsType[*CommandError](err); ok && e.contains("invalid job id", "already completing or completed", "job/step already") {
		return nil
	}
	return err
}

// End is how a job ended.
type End struct {
	State string
	Exit  int // exit code of the batch script, 128 + n if signal n ended it
}

// ErrForgotten: the job ended longer ago than MinJobAge, and there is no accounting.
var ErrForgotten = errors.New("slurm no longer knows the job")

// HowEnded asks the controller, then accounting; [ErrForgotten] if neither knows the job.
func HowEnded(ctx context.Context, id string) (End, error) {
	out, err := run(ctx, "scontrol", "show", "job", "--oneliner", id)
	var e *CommandError
	switch {
	case err == nil:
		return parseShownJob(out)
	case !errors.As(err, &e) || !e.contains("invalid job id"):
		return End{}, err
	}
	// Without slurmdbd, sacct fails or prints nothing.
	out, err = run(ctx, "sacct", "--noheader", "--parsable2", "--allocations", "--jobs="+id, "--format=State,ExitCode")
	if err != nil || strings.TrimSpace(out) == "" {
		return End{}, ErrForgotten
	}
	state, exit, _ := strings.Cut(strings.TrimSpace(out), "|")
	return newEnd(state, exit)
}

func parseShownJob(out string) (End, error) {
	job := fieldsOf(out)
	if job["JobState"] == "" {
		return End{}, fmt.Errorf("scontrol show job: found %.120q, want JobState=…", out)
	}
	return newEnd(job["JobState"], job["ExitCode"])
}

// newEnd reads a state such as "CANCELLED by 1000", and CODE:SIGNAL.
func newEnd(state, exit string) (End, error) {
	state, _, _ = strings.Cut(strings.TrimSpace(state), " ")
	code, signal, _ := strings.Cut(exit, ":")
	c, err1 := strconv.Atoi(code)
	s, err2 := strconv.Atoi(signal)
	if err1 != nil || err2 != nil {
		return End{}, fmt.Errorf("exit code of a job: found %.40q, want CODE:SIGNAL", exit)
	}
	if s != 0 {
		c = 128 + s
	}
	return End{State: state, Exit: c}, nil
}
