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
	live     []*process
	ends     []rankEnd // of the others, in the order in which they ended

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
	workers := 0
	for _, s := range specs {
		if err := g.start(garbage, s, cancel); err != nil {
			g.stop()
			return err
		}
		if !s.server {
			workers++
		}
	}
	// The trial is over when every worker is done, one process fails, or the context ends.
	for over := workers == 0; !over; {
		select {
		case p := <-g.ended:
			g.gone(p)
			if !p.spec.server {
				workers--
			}
			over = p.end.exit != 0 || workers == 0
		case <-garbage.Done():
			over = true
		}
	}
	if classify(g.ends) != nil && garbage.Err() == nil {
		// Others may end by themselves: one out of memory can still print that.
		g.await(500 * time.Millisecond)
	}
	g.stop()
	return g.verdict(ctx)
}

// verdict is the first of: cancelled, a failed process, an unreadable line, no observation.
func (g *group) verdict(ctx context.Context) error {
	last := ""
	for _, e := range g.ends {
		last = cmp.Or(e.last, last)
	}
	if ctx.Err() != nil {
		return fmt.Errorf("%w%s", context.Cause(ctx), g.heard.instead(last))
	}
	if f := classify(g.ends); f != nil {
		return f
	}
	return g.heard.verdict(last)
}

func (g *group) gone(p *process) {
	if cpuOnly(g.trial.Config.GPUType) {
		g.resident = max(g.resident, peakResident(p.cmd.ProcessState))
	}
	g.live = slices.DeleteFunc(g.live, func(l *process) bool { return l == p })
	g.ends = append(g.ends, p.end)
}

func (g *group) await(limit time.Duration) {
	for over := time.After(limit); len(g.live) > 0; {
		select {
		case p := <-g.ended:
			g.gone(p)
		case <-over:
			return
		}
	}
}

func (g *group) stop() {
	before := len(g.ends)
	for _, p := range g.live {
		terminateGroup(p.cmd.Process.Pid)
	}
	g.await(cmp.Or(g.launcher.Grace, defaultGrace))
	for _, p := range g.live {
		killGroup(p.cmd.Process.Pid)
	}
	g.await(math.MaxInt64)
	for i := before; i < len(g.ends); i++ {
		g.ends[i].killed = true
	}
}

func (g *group) start(ctx context.Context, s processSpec, cancel context.CancelCauseFunc) error {
	r, w, err := os.Pipe()
	if err != nil {
		return fmt.Errorf("start %s: %w", s.name, err)
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
		return &Failure{Status: data.Failed, Detail: fmt.Sprintf("start %s: %v", s.name, err)}
	}
	g.launcher.Watchdog.watch(mark, cmd.Process.Pid)
	p := &process{spec: s, cmd: cmd, mark: mark, pipe: r, read: make(chan struct{}), out: output{heard: g.heard, name: s.name, rank: s.rank}}
	go func() {
		defer close(p.read)
		g.readOutput(ctx, p, cancel)
	}()
	go g.see(p)
	g.live = append(g.live, p)
	return nil
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
		if g.log.Flush() != nil {
			g.log.Reset(io.Discard) // a failed write must not fail the measurement
		}
		g.mu.Unlock()
		p.out.flush(ctx, false)
		if bad := g.heard.unread(); bad != nil {
			cancel(bad)
		}
		if err != nil {
			return
		}
	}
}
