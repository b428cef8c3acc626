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

// exitError is an error with the exit code of the command.
type exitError struct {
	error
	code int
}

func (e exitError) Unwrap() error { return e.error }

// usageError is the error of a command line that cannot be understood.
func usageError(format string, args ...any) error {
	return exitError{fmt.Errorf(format, args...), exitBadInput}
}

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
	var coded exitError
	switch {
	case errors.Is(err, context.Canceled), errors.Is(err, errInterrupted):
		return exitInterrupted
	case errors.As(err, &coded):
		return coded.code
	case errors.As(err, &input), errors.As(err, &unknown), errors.Is(err, fs.ErrNotExist), isCobraUsage(err):
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
