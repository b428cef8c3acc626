package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"strings"

	"knee/data"
)

// Exit codes, as documented in docs/formats.md.
const (
	exitOK          = 0
	exitFailed      = 1
	exitBadInput    = 2
	exitThreshold   = 3
	exitInfeasible  = 4
	exitInterrupted = 130
)

// usageError is a command line that cannot be understood.
type usageError struct{ error }

func (e usageError) Unwrap() error { return e.error }

// infeasibleError says that nothing satisfies what was requested.
type infeasibleError struct{ error }

func (e infeasibleError) Unwrap() error { return e.error }

// thresholdError says that a threshold of --fail-if was crossed.
type thresholdError struct{ error }

func (e thresholdError) Unwrap() error { return e.error }

// errInterrupted ends a command that the user stopped and that can continue.
var errInterrupted = errors.New("interrupted")

// exitCode prints an error and returns its exit code.
func exitCode(stderr io.Writer, err error) int {
	if err == nil {
		return exitOK
	}
	said := err.Error()
	if errors.Is(err, context.Canceled) {
		said = errInterrupted.Error() // instead of the library's message
	}
	for line := range strings.SplitSeq(said, "\n") {
		fmt.Fprintln(stderr, "knee:", data.Visible(line, 4000))
	}
	var input *data.InputError
	var unknown *data.UnknownError
	var usage usageError
	var infeasible infeasibleError
	var threshold thresholdError
	switch {
	case errors.Is(err, context.Canceled), errors.Is(err, errInterrupted):
		return exitInterrupted
	case errors.As(err, &threshold):
		return exitThreshold
	case errors.As(err, &infeasible):
		return exitInfeasible
	case errors.As(err, &input), errors.As(err, &unknown), errors.As(err, &usage), errors.Is(err, fs.ErrNotExist), isCobraUsage(err):
		return exitBadInput
	}
	return exitFailed
}

// isCobraUsage recognises cobra's own errors about a wrong command line by their
// text, as they have no type.
func isCobraUsage(err error) bool {
	for _, start := range []string{"unknown command", "accepts ", "requires at least", "required flag", "invalid argument", "if any flags in the group", "at least one of the flags"} {
		if strings.HasPrefix(err.Error(), start) {
			return true
		}
	}
	return false
}
