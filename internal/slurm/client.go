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

func run(ctx context.Context, name string, args ...string) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, commandTimeout)
	defer cancel()
	cmd := exec.CommandContext(ctx, name, args...)
	// Output must not depend on the user's settings.
	cmd.Env = append(os.Environ(), "LC_ALL=C", "SQUEUE_FORMAT=", "SINFO_FORMAT=", "SACCT_FORMAT=")
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
