// Command knee finds the knee of a training job's scaling curve and shares
// a cluster by it.
//
// It measures a few configurations of a training job that it chooses itself,
// fits curves to them, predicts every other configuration with an honest
// interval, allocates a cluster by marginal gain, and exports plans for the
// schedulers that clusters already run. `knee quickstart` shows all of it on
// one machine in about a minute; `knee help` lists the commands.
//
// Each command lives in a file of its own; it parses flags, calls a package
// and prints the result.
package main

import (
	"context"
	"io"
	"os"
)

func main() {
	os.Exit(exitCode(os.Stderr, run(context.Background(), os.Stdout, os.Stderr, os.Args[1:])))
}

// run executes one command line. Results go to stdout, everything else to
// stderr.
func run(ctx context.Context, stdout, stderr io.Writer, args []string) error {
	ctx, stop := newInterrupts(ctx, stderr)
	defer stop.close()
	root := newRoot(&app{stdout: stdout, stderr: stderr, interrupts: stop})
	root.SetArgs(args)
	root.SetOut(stdout)
	root.SetErr(stderr)
	return root.ExecuteContext(ctx)
}
