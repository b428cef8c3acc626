package launch

import (
	"bufio"
	"cmp"
	"context"
	"fmt"
	"io"
	"math"
	"math/rand/v2"
	"os"
	"os/exec"
	"slices"
	"sync"
	"time"

	"knee/data"
)

// defaultGrace is the time between SIGTERM and SIGKILL.
const defaultGrace = 2 * time.Second

type group struct {
	launcher *Local
	trial    Trial
	heard    *heard
	ended    chan *process // each process, when it has ended

	mu  sync.Mutex // guards log
	log *bufio.Writer

	resident float64 // bytes, largest peak of one process; 0 if not known, or on GPUs
}

type process struct {
	spec processSpec
	cmd  *exec.Cmd
	mark string        // an environment variable, "NAME=value", of it and its descendants only
	pipe *os.File      // read end of its output
	read chan struct{} // closed when its output is read to the end
	out  output
	end  rankEnd
}

func (g *group) run(ctx context.Context, specs []processSpec) error {
	garbage, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	var live []*process
	var ends []rankEnd
	workers := 0
	for _, s := range specs {
		p, err := g.start(garbage, s, cancel)
		if err != nil {
			g.stop(live)
			return err
		}
		live = append(live, p)
		if !s.server {
			workers++
		}
	}
	// The trial is over when every worker is done, one process fails, or the
	// context ends.
	for over := workers == 0; !over; {
		select {
		case p := <-g.ended:
			live = slices.DeleteFunc(live, func(l *process) bool { return l == p })
			ends = append(ends, g.endOf(p))
			if !p.spec.server {
				workers--
			}
			over = p.end.exit != 0 || workers == 0
		case <-garbage.Done():
			over = true
		}
	}
	if classify(ends) != nil && garbage.Err() == nil {
		// Others may end by themselves: one out of memory can still print that.
		var late []rankEnd
		late, live = g.await(live, 500*time.Millisecond)
		ends = append(ends, late...)
	}
	ends = append(ends, g.stop(live)...)
	return g.verdict(ctx, ends)
}

// verdict returns how the trial ended; the first of these counts: cancelled, a
// failed process, an unreadable line, no observation.
func (g *group) verdict(ctx context.Context, ends []rankEnd) error {
	last := ""
	for _, e := range ends {
		last = cmp.Or(e.last, last)
	}
	if ctx.Err() != nil {
		return fmt.Errorf("%w%s", context.Cause(ctx), g.heard.instead(last))
	}
	if f := classify(ends); f != nil {
		return f
	}
	return g.heard.verdict(last)
}

// endOf returns the end of a process and updates g.resident.
func (g *group) endOf(p *process) rankEnd {
	if cpuOnly(g.trial.Config.GPUType) {
		g.resident = max(g.resident, peakResident(p.cmd.ProcessState))
	}
	return p.end
}

// await returns the ends of processes, and those left after a time.
func (g *group) await(live []*process, limit time.Duration) (ends []rankEnd, left []*process) {
	timer := time.NewTimer(limit)
	defer timer.Stop()
	for len(live) > 0 {
		select {
		case p := <-g.ended:
			live = slices.DeleteFunc(live, func(l *process) bool { return l == p })
			ends = append(ends, g.endOf(p))
		case <-timer.C:
			return ends, live
		}
	}
	return ends, nil
}

// stop asks processes to end, kills those that do not, and returns their ends.
func (g *group) stop(live []*process) []rankEnd {
	for _, p := range live {
		terminateGroup(p.cmd.Process.Pid)
	}
	ends, left := g.await(live, cmp.Or(g.launcher.Grace, defaultGrace))
	for _, p := range left {
		killGroup(p.cmd.Process.Pid)
	}
	killed, _ := g.await(left, math.MaxInt64)
	ends = append(ends, killed...)
	for i := range ends {
		ends[i].killed = true
	}
	return ends
}

// start starts a process and the goroutines that read its output and wait for it.
func (g *group) start(ctx context.Context, s processSpec, cancel context.CancelCauseFunc) (*process, error) {
	r, w, err := os.Pipe()
	if err != nil {
		return nil, fmt.Errorf("start %s: %w", s.name, err)
	}
	defer w.Close()
	cmd := exec.Command(g.trial.Command[0], g.trial.Command[1:]...)
	mark := fmt.Sprintf("KNEE_PROCESS=%d-%x", os.Getpid(), rand.Uint64())
	cmd.Dir, cmd.Env = g.trial.Dir, append(s.env, mark)
	cmd.Stdout, cmd.Stderr = w, w
	cmd.SysProcAttr = ownGroup()
	g.launcher.Watchdog.watch(mark, 0)
	if err := cmd.Start(); err != nil {
		g.launcher.Watchdog.release(mark)
		r.Close()
		return nil, &Failure{Status: data.Failed, Exit: -1, Detail: fmt.Sprintf("start %s: %v", s.name, err)}
	}
	g.launcher.Watchdog.watch(mark, cmd.Process.Pid)
	p := &process{spec: s, cmd: cmd, mark: mark, pipe: r, read: make(chan struct{}), out: output{heard: g.heard, name: s.name, rank: s.rank}}
	go func() {
		defer close(p.read)
		g.readOutput(ctx, p, cancel)
	}()
	go g.see(p)
	return p, nil
}

// see waits for a process, kills what it left running, and sends it to ended.
func (g *group) see(p *process) {
	_ = p.cmd.Wait() // exitCode has the result
	killGroup(p.cmd.Process.Pid)
	killOrphans(p.mark)
	g.launcher.Watchdog.release(p.mark)
	select {
	case <-p.read:
	case <-time.After(time.Second):
		// A process that killOrphans did not find holds the pipe open.
		p.pipe.SetReadDeadline(time.Now())
		<-p.read
	}
	p.pipe.Close()
	p.end = rankEnd{name: p.spec.name, exit: exitCode(p.cmd), last: p.out.last, oom: p.out.oom}
	g.ended <- p
}

func (g *group) readOutput(ctx context.Context, p *process, cancel context.CancelCauseFunc) {
	var out lines
	var now time.Time
	mark := "[" + p.spec.name + "] "
	take := func(line string) {
		for _, part := range []string{mark, line, "\n"} {
			_, _ = g.log.WriteString(part)
		}
		p.out.line(now, line)
	}
	text := make([]byte, 32<<10)
	for {
		n, err := p.pipe.Read(text)
		now = time.Now()
		g.mu.Lock()
		out.split(text[:n], take)
		if err != nil {
			out.end(take)
		}
		g.flush()
		g.mu.Unlock()
		p.out.flush(ctx)
		if bad := g.heard.unread(); bad != nil {
			cancel(bad)
		}
		if err != nil {
			return
		}
	}
}

// flush writes the log. A failed write must not fail the measurement.
func (g *group) flush() {
	if g.log.Flush() != nil {
		g.log.Reset(io.Discard)
	}
}
