package main

import (
	"bufio"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"testing"
	"time"
)

// TestMain makes the test program one that prints the time until it is killed.
func TestMain(m *testing.M) {
	for os.Getenv("PRINT_THE_TIME") != "" {
		fmt.Println(time.Now().Unix())
		time.Sleep(10 * time.Millisecond)
	}
	os.Exit(m.Run())
}

// The clock of a process goes forward by an hour and then back to before, while it
// runs.
func TestSet(t *testing.T) {
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), "PRINT_THE_TIME=1")
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() { _ = cmd.Process.Kill(); _ = cmd.Wait() }()
	lines := bufio.NewScanner(out)
	for _, by := range []int64{0, 3600, -3600} {
		if by != 0 {
			if err := set(cmd.Process.Pid, by); errors.Is(err, fs.ErrPermission) {
				t.Skipf("the memory of another process may not be written here: %v", err)
			} else if err != nil {
				t.Fatal(err)
			}
		}
		// Lines printed before the change come first.
		off, seen := int64(1<<40), 0
		for ; off < by-60 || off > by+60; seen++ {
			var printed int64
			if seen == 5000 || !lines.Scan() {
				t.Fatalf("after %d lines the clock is %d s off, want %d (%v)", seen, off, by, lines.Err())
			}
			if _, err := fmt.Sscan(lines.Text(), &printed); err != nil {
				t.Fatal(err)
			}
			off = printed - time.Now().Unix()
		}
	}
}
