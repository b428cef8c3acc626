// Command knee finds the knee of a training job's scaling curve and shares a cluster by it.
//
// It measures a few configurations of a training job that it chooses itself, fits curves to them,
// predicts every other configuration with an honest interval, allocates a cluster by marginal
// gain, and exports plans for the schedulers that clusters already run. `knee quickstart` shows
// all of it on one machine in about a minute; `knee help` lists the commands.
//
// Each command lives in the file of its subject, with its texts in help.txt; it parses flags, calls
// a package and prints the result.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/signal"
	"strings"
	"sync"
	"syscall"
	"time"

	"knee/allocate/plan"
	"knee/data"
	"knee/fit"
	"knee/predict"
)

func main() {
	os.Exit(exitCode(os.Stderr, run(context.Background(), os.Stdout, os.Stderr, os.Args[1:])))
}

// run executes a command line: results go to stdout, all else to stderr.
func run(ctx context.Context, stdout, stderr io.Writer, args []string) error {
	ctx, stop := newInterrupts(ctx, stderr)
	defer stop.close()
	root := newRoot(&app{stdout: stdout, stderr: stderr, interrupts: stop})
	root.SetArgs(args)
	root.SetOut(stdout)
	root.SetErr(stderr)
	return root.ExecuteContext(ctx)
}

// Exit codes, as documented in docs/formats.md.
const (
	exitOK          = 0
	exitFailed      = 1
	exitBadInput    = 2
	exitThreshold   = 3
	exitInfeasible  = 4
	exitInterrupted = 130
)

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
	var coded exitError
	switch {
	case errors.Is(err, context.Canceled), errors.Is(err, errInterrupted):
		return exitInterrupted
	case errors.As(err, &coded):
		return coded.code
	case is[*plan.Infeasible](err), is[*predict.NoneFitsError](err), is[*predict.NoLayoutError](err):
		return exitInfeasible
	case is[*data.InputError](err), is[*data.UnknownError](err), errors.Is(err, fit.ErrNoCurve), errors.Is(err, fit.ErrEpochs),
		errors.Is(err, fs.ErrNotExist):
		return exitBadInput
	}
	return exitFailed
}

// is reports whether an error, or one that it wraps, is of a type.
func is[E error](err error) bool {
	_, ok := errors.AsType[E](err)
	return ok
}

// interrupts ends a command on signals. One that can be drained finishes its running
// work at the first signal and aborts at the second.
type interrupts struct {
	cancel  context.CancelFunc
	stderr  io.Writer
	signals chan os.Signal

	mu      sync.Mutex
	drain   chan struct{} // nil unless a command can be drained
	drained bool
	asked   time.Time // when SIGTERM came last
}

// echo is how soon a second SIGTERM counts as the same: timeout(1) sends it twice.
const echo = 200 * time.Millisecond

func newInterrupts(ctx context.Context, stderr io.Writer) (context.Context, *interrupts) {
	ctx, cancel := context.WithCancel(ctx)
	i := &interrupts{cancel: cancel, stderr: stderr, signals: make(chan os.Signal, 2)}
	signal.Notify(i.signals, os.Interrupt, syscall.SIGTERM)
	go func() {
		for s := range i.signals {
			i.hear(s, time.Now())
		}
	}()
	return ctx, i
}

func (i *interrupts) hear(s os.Signal, at time.Time) {
	i.mu.Lock()
	defer i.mu.Unlock()
	if s == syscall.SIGTERM {
		last := i.asked
		i.asked = at
		if at.Sub(last) < echo {
			return
		}
	}
	if i.drain == nil || i.drained {
		if i.drained {
			fmt.Fprintln(i.stderr, "\nknee: stopping now; what was measured is kept")
		}
		i.cancel()
		return
	}
	i.drained = true
	fmt.Fprintln(i.stderr, "\nknee: finishing the running trials; interrupt again to stop them")
	close(i.drain)
}

// drainable returns a channel that the first interrupt closes.
func (i *interrupts) drainable() <-chan struct{} {
	i.mu.Lock()
	defer i.mu.Unlock()
	if i.drain == nil {
		i.drain = make(chan struct{})
	}
	return i.drain
}

func (i *interrupts) close() {
	signal.Stop(i.signals)
	close(i.signals)
	i.cancel()
}
