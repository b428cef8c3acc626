//go:build unix

package trainer

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"

	"knee/data"
)

// process is one rank of a job of real processes.
type process struct {
	cmd    *exec.Cmd
	lines  chan string   // its output, closed at its end
	stderr *bytes.Buffer // to be read after done
	done   chan error
}

// startJob starts every rank of a job as a process, as a launcher does, and
// kills those that are left at the end of the test.
func startJob(t *testing.T, o Options, args ...string) []*process {
	t.Helper()
	var procs []*process
	for _, q := range jobOptions(t, o) {
		p := &process{cmd: exec.Command(os.Args[0], args...), lines: make(chan string, 10_000), stderr: &bytes.Buffer{}, done: make(chan error, 1)}
		p.cmd.Env = append(os.Environ(), childEnv(q)...)
		p.cmd.Stderr = p.stderr
		out, err := p.cmd.StdoutPipe()
		if err != nil {
			t.Fatal(err)
		}
		if err := p.cmd.Start(); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = p.cmd.Process.Kill() })
		go func() {
			for sc := bufio.NewScanner(out); sc.Scan(); {
				select {
				case p.lines <- sc.Text():
				default:
				}
			}
			close(p.lines)
			p.done <- p.cmd.Wait()
		}()
		procs = append(procs, p)
	}
	return procs
}

// childEnv is the environment a launcher gives a rank.
func childEnv(o Options) []string {
	role := "worker"
	if o.Role == Server {
		role = "ps"
	}
	env := []string{
		childSwitch + "=train", "GOMAXPROCS=1", "KNEE_ROLE=" + role, "KNEE_MODE=" + string(o.Mode),
		fmt.Sprintf("RANK=%d", o.Rank), fmt.Sprintf("WORLD_SIZE=%d", o.Workers+o.PS), "LOCAL_RANK=0",
		"MASTER_ADDR=" + o.MasterAddr, fmt.Sprintf("MASTER_PORT=%d", o.MasterPort),
		fmt.Sprintf("KNEE_WORKERS=%d", o.Workers), fmt.Sprintf("KNEE_PS=%d", o.PS),
		"KNEE_PS_HOSTS=" + strings.Join(o.PSHosts, ","), fmt.Sprintf("KNEE_LOCAL_BATCH=%g", o.LocalBatch),
	}
	if o.Role == Server {
		env = append(env, fmt.Sprintf("KNEE_PS_RANK=%d", o.PSRank))
	}
	return env
}

// await waits until a rank has printed a line.
func await(t *testing.T, procs []*process) {
	t.Helper()
	limit := time.After(2 * time.Minute)
	for {
		for _, p := range procs {
			select {
			case s, ok := <-p.lines:
				if ok && strings.HasPrefix(s, "knee: ") {
					return
				}
			default:
			}
		}
		select {
		case <-limit:
			t.Fatal("no step within 2 minutes")
		case <-time.After(5 * time.Millisecond):
		}
	}
}

// end waits for a process and returns its exit code and standard error.
func (p *process) end(t *testing.T) (int, string) {
	t.Helper()
	select {
	case <-p.done:
		return p.cmd.ProcessState.ExitCode(), p.stderr.String()
	case <-time.After(2 * time.Minute):
		t.Fatalf("process %d still runs", p.cmd.Process.Pid)
		return 0, ""
	}
}

// TestDeathEndsJob kills one rank of a running job: all others must end by
// themselves, and one of them must name it.
func TestDeathEndsJob(t *testing.T) {
	tests := []struct {
		name   string
		mode   data.Mode
		k, p   int
		victim int
		want   string
	}{
		{"ring neighbour of none but two", data.AllReduce, 5, 0, 2, `worker 2 \(127\.0\.0\.1:\d+\) left during step \d+: .+`},
		{"rank 0", data.AllReduce, 4, 0, 0, `worker 0 \(127\.0\.0\.1:\d+\) left during step \d+: .+`},
		{"worker of servers", data.PSSync, 3, 2, 1, `worker 1 \(127\.0\.0\.1:\d+\) left during step \d+: .+`},
		{"server", data.PSSync, 2, 2, 3, `server 1 \(127\.0\.0\.1:\d+\) left during step \d+: .+`},
		{"asynchronous worker", data.PSAsync, 2, 1, 1, `worker 1 \(127\.0\.0\.1:\d+\) left during step \d+: .+`},
		{"asynchronous server", data.PSAsync, 2, 2, 2, `server 0 \(127\.0\.0\.1:\d+\) left during step \d+: .+`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			procs := startJob(t, Options{Mode: tt.mode, Workers: tt.k, PS: tt.p, LocalBatch: 8})
			await(t, procs)
			if err := procs[tt.victim].cmd.Process.Signal(syscall.SIGKILL); err != nil {
				t.Fatal(err)
			}
			said := ""
			for r, p := range procs {
				code, stderr := p.end(t)
				if r != tt.victim && code != 1 {
					t.Errorf("rank %d exited %d, want 1", r, code)
				}
				said += stderr
			}
			if !regexp.MustCompile(tt.want).MatchString(said) {
				t.Errorf("they said %q, want %s", said, tt.want)
			}
		})
	}
}

// TestStoppedRankSaysSo ends one rank by SIGTERM, as a scheduler would.
func TestStoppedRankSaysSo(t *testing.T) {
	procs := startJob(t, Options{Mode: data.AllReduce, Workers: 3, LocalBatch: 8})
	await(t, procs)
	if err := procs[1].cmd.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	said := ""
	for r, p := range procs {
		code, stderr := p.end(t)
		if code != 1 {
			t.Errorf("rank %d exited %d and said %q", r, code, stderr)
		}
		said += stderr
	}
	if !strings.Contains(said, "worker 1 (127.0.0.1:") {
		t.Errorf("they said %q, want that worker 1 left", said)
	}
}

// TestProcessesFinish trains to the end and checks that all exit with 0.
func TestProcessesFinish(t *testing.T) {
	for _, o := range []Options{{Mode: data.AllReduce, Workers: 3, LocalBatch: 8}, {Mode: data.PSAsync, Workers: 2, PS: 2, LocalBatch: 8}} {
		procs := startJob(t, o, "--steps=10", "--message-bytes=450k")
		var lines int
		for r, p := range procs {
			if code, stderr := p.end(t); code != 0 {
				t.Errorf("%s: rank %d exited %d: %s", o.Mode, r, code, stderr)
			}
			for range p.lines {
				lines++
			}
		}
		if lines != 10 {
			t.Errorf("%s: %d lines, want 10", o.Mode, lines)
		}
	}
}

func TestMeetingNamesMissingRanks(t *testing.T) {
	t.Parallel() // mostly waits
	ranks := jobOptions(t, Options{Mode: data.PSSync, Workers: 2, PS: 2, LocalBatch: 8, Rendezvous: 3 * time.Second})
	errs := make(chan error, 2)
	for _, r := range []int{0, 2} {
		go func() { errs <- Run(context.Background(), ranks[r], io.Discard, io.Discard) }()
	}
	said := errors.Join(<-errs, <-errs)
	if said == nil || !strings.Contains(said.Error(), "server 0: waited 3s for worker 1") {
		t.Errorf("ended with %v, want the missing ranks named", said)
	}
}

func TestNobodyToMeet(t *testing.T) {
	t.Parallel() // mostly waits
	ranks := jobOptions(t, Options{Mode: data.AllReduce, Workers: 2, Rendezvous: 100 * time.Millisecond})
	err := Run(context.Background(), ranks[1], io.Discard, io.Discard)
	if err == nil || !strings.Contains(err.Error(), "worker 1 found no worker 0 at "+ranks[0].MasterAddr) {
		t.Errorf("ended with %v, want that worker 0 was not found", err)
	}
}

// TestStrangersAreIgnored connects something else to the rendezvous port.
func TestStrangersAreIgnored(t *testing.T) {
	ranks := jobOptions(t, Options{Mode: data.AllReduce, Workers: 2, LocalBatch: 8, Steps: 3})
	errs := make(chan error, 2)
	go func() { errs <- Run(context.Background(), ranks[0], io.Discard, io.Discard) }()
	stranger, err := newGroup(t.Context(), &ranks[1]).connect(fmt.Sprintf("127.0.0.1:%d", ranks[0].MasterPort), 0)
	if err != nil {
		t.Fatal(err)
	}
	conn := stranger.conn
	defer conn.Close()
	if _, err := io.WriteString(conn, "GET / HTTP/1.1\r\nHost: localhost\r\n\r\n"); err != nil {
		t.Fatal(err)
	}
	go func() { errs <- Run(context.Background(), ranks[1], io.Discard, io.Discard) }()
	for range 2 {
		if err := <-errs; err != nil {
			t.Error(err)
		}
	}
}
