package trainer

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"syscall"
	"testing"
)

// childSwitch makes the test binary behave like the train command, so that
// tests can start, and kill, real processes.
const childSwitch = "KNEE_TRAINER_TEST_CHILD"

func TestMain(m *testing.M) {
	if os.Getenv(childSwitch) == "train" {
		os.Exit(child())
	}
	os.Exit(m.Run())
}

// child trains with the options of the environment and the command line.
func child() int {
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM)
	defer stop()
	o, err := FromEnv(os.Getenv)
	if err == nil {
		fs := flag.NewFlagSet("train", flag.ContinueOnError)
		o.Bind(fs)
		err = fs.Parse(os.Args[1:])
	}
	if err == nil {
		err = Run(ctx, o, os.Stdout, os.Stderr)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "knee train:", err)
		return 1
	}
	return 0
}
