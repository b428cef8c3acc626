package trainer

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"syscall"
	"testing"
	"time"
)

// childSwitch makes the test binary behave like the train command, so that
// tests can start, and kill, real processes.
const childSwitch = "KNEE_TRAINER_TEST_CHILD"

func TestMain(m *testing.M) {
	switch os.Getenv(childSwitch) {
	case "train":
		os.Exit(child())
	case "parent":
		os.Exit(parent())
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

// parent starts a child that watches it, prints the child's process id and
// waits to be killed.
func parent() int {
	// Cmd keeps the last of two settings of a variable, so that the child trains
	// and does not become a parent too.
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), childSwitch+"=train", fmt.Sprintf("KNEE_PARENT_PID=%d", os.Getpid()))
	cmd.Stdout = os.Stdout
	err := cmd.Start()
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	fmt.Printf("pid: %d\n", cmd.Process.Pid)
	time.Sleep(time.Hour) // select {} alone is a deadlock to a runtime without cgo
	return 1
}
