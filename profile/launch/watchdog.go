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

// Watchdog is a small process that kills the process groups of trials when the process that
// started them dies, even by SIGKILL, which closes the pipe. Nil watches nothing.
type Watchdog struct {
	mu   sync.Mutex
	pipe io.WriteCloser
	cmd  *exec.Cmd
}

// StartWatchdog starts a program that calls [Guard] on its standard input; nil if it is empty.
func StartWatchdog(program string, args ...string) (*Watchdog, error) {
	if program == "" {
		return nil, nil
	}
	cmd := exec.Command(program, args...)
	cmd.Stderr = os.Stderr
	cmd.SysProcAttr = ownGroup() // Ctrl-C in the terminal must not end it
	pipe, err := cmd.StdinPipe()
	if err != nil {
		return nil, fmt.Errorf("start the watchdog: %w", err)
	}
	if err := cmd.Start(); err != nil {
		return nil, fmt.Errorf("start the watchdog: %w", err)
	}
	return &Watchdog{pipe: pipe, cmd: cmd}, nil
}

// tell sends one line. A write error is ignored: the trial is not affected.
func (w *Watchdog) tell(line string) {
	if w == nil {
		return
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	_, _ = io.WriteString(w.pipe, line+"\n")
}

// watch registers a process by its mark, with group 0 before it has started.
func (w *Watchdog) watch(mark string, group int) { w.tell("+" + mark + " " + strconv.Itoa(group)) }
func (w *Watchdog) release(mark string)          { w.tell("-" + mark) }

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

// Guard is the watchdog: it reads lines "+MARK GROUP" and "-MARK" until r closes, then kills
// the remaining groups and processes with a remaining mark.
func Guard(r io.Reader) error {
	groups := map[string]int{} // by mark
	lines := bufio.NewScanner(r)
	for lines.Scan() {
		word, number, _ := strings.Cut(lines.Text(), " ")
		if mark, ok := strings.CutPrefix(word, "-"); ok {
			delete(groups, mark)
		} else if mark, ok := strings.CutPrefix(word, "+"); ok && mark != "" {
			groups[mark], _ = strconv.Atoi(number)
		}
	}
	for mark, group := range groups {
		if group > 1 { // 0 and 1 are not a trial's
			killGroup(group)
		}
		killOrphans(mark)
	}
	return lines.Err()
}
