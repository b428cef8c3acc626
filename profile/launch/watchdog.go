package launch

import (
	"bufio"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"sync"
)

// Watchdog is a small process that kills the process groups of trials when
// the process that started them is gone, even if that was killed with
// SIGKILL and could do nothing itself. It is told which groups live through
// a pipe; when the pipe closes without a goodbye, it kills what is left.
//
// A nil *Watchdog watches nothing.
type Watchdog struct {
	mu   sync.Mutex
	pipe io.WriteCloser
	cmd  *exec.Cmd
}

// StartWatchdog starts command, a program that calls [Guard] on its standard
// input, such as `knee guard`.
func StartWatchdog(command ...string) (*Watchdog, error) {
	cmd := exec.Command(command[0], command[1:]...)
	cmd.Stderr = os.Stderr
	cmd.SysProcAttr = ownGroup() // Ctrl-C in the terminal is not for it
	pipe, err := cmd.StdinPipe()
	if err != nil {
		return nil, fmt.Errorf("start the watchdog: %w", err)
	}
	if err := cmd.Start(); err != nil {
		return nil, fmt.Errorf("start the watchdog: %w", err)
	}
	return &Watchdog{pipe: pipe, cmd: cmd}, nil
}

// tell sends one line. A watchdog that has gone is not an error: it guards
// against an event that has not happened.
func (w *Watchdog) tell(line string) {
	if w == nil {
		return
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	_, _ = io.WriteString(w.pipe, line+"\n")
}

func (w *Watchdog) watch(group int, mark string) { w.tell("+" + strconv.Itoa(group) + " " + mark) }
func (w *Watchdog) release(group int)            { w.tell("-" + strconv.Itoa(group)) }

// Close ends the watchdog. Groups not yet released are killed.
func (w *Watchdog) Close() error {
	if w == nil {
		return nil
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if err := w.pipe.Close(); err != nil {
		return err
	}
	return w.cmd.Wait()
}

// Guard is the body of the watchdog process. It reads lines "+GROUP MARK" and
// "-GROUP" from r until it closes, and then kills the groups that remain, and
// the processes that have left them, which are known by the mark in their
// environment.
func Guard(r io.Reader) error {
	marks := map[int]string{} // by group
	lines := bufio.NewScanner(r)
	for lines.Scan() {
		first, mark, _ := strings.Cut(lines.Text(), " ")
		group, err := strconv.Atoi(strings.TrimLeft(first, "+-"))
		if err != nil || group <= 1 {
			continue // never let a line name a group that is not a trial's
		}
		if strings.HasPrefix(first, "+") {
			marks[group] = mark
		} else {
			delete(marks, group)
		}
	}
	for group, mark := range marks {
		killGroup(group)
		if mark != "" {
			killOrphans(mark)
		}
	}
	return lines.Err()
}
