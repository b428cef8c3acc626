package trainer

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"time"
)

// group is this process's view of the job's other processes: who they are and
// where they are reached. They meet at rank 0, which checks that all train the
// same and tells everyone the addresses of all; from then on ranks talk to
// those they exchange gradients with. A rank that leaves takes its neighbours
// along, and these theirs; who was first is for the launcher to say.
type group struct {
	o     *Options
	rank  int
	ctx   context.Context
	step  atomic.Int64 // in progress, for messages
	addrs []string     // data address of every rank
	data  net.Listener // where peers reach this rank, nil if none do

	mu      sync.Mutex
	closers []io.Closer // closed when the job ends, so that nothing blocks
}

// hello introduces a rank.
type hello struct {
	Rank int    `json:"rank"`
	Addr string `json:"addr"` // where peers reach it
	Spec string `json:"spec"` // what it trains
}

// welcome is rank 0's answer.
type welcome struct {
	Refused string   `json:"refused,omitempty"` // why
	Addrs   []string `json:"addrs,omitempty"`   // of all ranks
}

// join meets the other ranks of the job at the master address. It returns
// once all are there and agree on what they train.
func join(ctx context.Context, o *Options, log io.Writer) (*group, error) {
	g := &group{o: o, rank: o.Rank, ctx: ctx, addrs: make([]string, o.Workers+o.PS)}
	context.AfterFunc(ctx, g.close)
	var err error
	if g.rank == 0 {
		err = g.lead(log)
	} else {
		err = g.follow()
	}
	if err != nil {
		g.close()
		return nil, g.cause(err)
	}
	return g, nil
}

// cause returns why this rank ends, given the error it ran into: that it was
// told to explains every other.
func (g *group) cause(err error) error {
	if err != nil && g.ctx.Err() != nil {
		return context.Cause(g.ctx)
	}
	return err
}

// track makes sure c is closed when the job ends.
func (g *group) track(c io.Closer) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.closers = append(g.closers, c)
	if g.ctx.Err() != nil {
		c.Close()
	}
}

func (g *group) close() {
	g.mu.Lock()
	defer g.mu.Unlock()
	for _, c := range g.closers {
		c.Close()
	}
}

func (g *group) hello() hello { return hello{g.rank, g.addrs[g.rank], g.o.spec()} }

func (g *group) master() string { return net.JoinHostPort(g.o.MasterAddr, fmt.Sprint(g.o.MasterPort)) }

// title names a rank with its address, for messages.
func (g *group) title(rank int) string { return fmt.Sprintf("%s (%s)", g.o.name(rank), g.addrs[rank]) }

// lead is rank 0's side of the meeting.
func (g *group) lead(log io.Writer) error {
	ln, err := g.listen(g.master())
	if err != nil {
		return fmt.Errorf("worker 0 cannot listen for the other ranks: %w", err)
	}
	defer ln.Close()
	if err := g.openData(g.o.MasterAddr); err != nil {
		return err
	}
	var links []*link
	for len(links) < len(g.addrs)-1 {
		l, h, err := g.accept(ln)
		if err != nil {
			return fmt.Errorf("meeting at %s: waited %s for %s", g.master(), g.o.Rendezvous, g.missing())
		}
		if why := g.refuse(h); why != "" {
			fmt.Fprintf(log, "knee train: refused %s: %s\n", l.peer, why)
			_ = l.tell(welcome{Refused: why}) // it is not ours to mind if it is gone
			l.conn.Close()
			continue
		}
		g.addrs[h.Rank] = h.Addr
		links = append(links, l)
	}
	for _, l := range links {
		if err := l.tell(welcome{Addrs: g.addrs}); err != nil {
			return err
		}
	}
	return nil
}

// refuse returns why a rank cannot join, "" if it can.
func (g *group) refuse(h hello) string {
	switch {
	case h.Rank < 1 || h.Rank >= len(g.addrs):
		return fmt.Sprintf("its rank is %d, want 1 to %d", h.Rank, len(g.addrs)-1)
	case g.addrs[h.Rank] != "":
		return g.o.name(h.Rank) + " has joined already"
	case h.Spec != g.o.spec():
		return fmt.Sprintf("%s trains %s, worker 0 trains %s", g.o.name(h.Rank), h.Spec, g.o.spec())
	}
	return ""
}

// missing lists the ranks that have not joined.
func (g *group) missing() string {
	var names []string
	for r := 1; r < len(g.addrs); r++ {
		if g.addrs[r] == "" {
			names = append(names, g.o.name(r))
		}
	}
	return strings.Join(names, ", ")
}

// follow is the other ranks' side of the meeting.
func (g *group) follow() error {
	conn, err := g.dial(g.master())
	if err != nil {
		return fmt.Errorf("%s found no worker 0 at %s within %s: %w", g.o.name(g.rank), g.master(), g.o.Rendezvous, err)
	}
	g.addrs[0] = g.master()
	l := newLink(conn, g.title(0), g.o.Timeout)
	host, _, err := net.SplitHostPort(conn.LocalAddr().String())
	if err != nil {
		return err
	}
	if err := g.openData(host); err != nil {
		return err
	}
	if g.data == nil {
		g.addrs[g.rank] = conn.LocalAddr().String()
	}
	if err := l.tell(g.hello()); err != nil {
		return err
	}
	var answer welcome
	if err := l.hear(&answer, g.o.Rendezvous+5*time.Second); err != nil {
		return err
	}
	if answer.Refused != "" || len(answer.Addrs) != len(g.addrs) {
		return fmt.Errorf("worker 0 refused this rank: %s", answer.Refused)
	}
	g.addrs = answer.Addrs
	return nil
}

// openData opens the listener this rank's peers connect to, if any, and notes
// its address. host is where this machine is reached.
func (g *group) openData(host string) (err error) {
	g.addrs[g.rank] = host
	addr := net.JoinHostPort(host, "0")
	switch {
	case g.o.Role == Server:
		addr = g.o.PSHosts[g.o.PSRank]
	case g.o.Mode.UsesPS() || g.o.Workers == 1:
		return nil // nobody connects to a worker that uses servers
	}
	if g.data, err = g.listen(addr); err != nil {
		return fmt.Errorf("%s cannot listen for its peers: %w", g.o.name(g.rank), err)
	}
	if g.addrs[g.rank] = addr; g.o.Role != Server {
		_, port, err := net.SplitHostPort(g.data.Addr().String())
		g.addrs[g.rank] = net.JoinHostPort(host, port)
		return err
	}
	return nil
}

// listen opens a TCP listener that gives up after the time for the meeting. If
// the host is not one of this machine's own addresses, as with the name of a
// Kubernetes service, it listens on all.
func (g *group) listen(addr string) (net.Listener, error) {
	ln, err := net.Listen("tcp", addr)
	if errors.Is(err, syscall.EADDRNOTAVAIL) {
		if _, port, bad := net.SplitHostPort(addr); bad == nil {
			ln, err = net.Listen("tcp", ":"+port)
		}
	}
	if err != nil {
		return nil, err
	}
	g.track(ln)
	return ln, ln.(*net.TCPListener).SetDeadline(time.Now().Add(g.o.Rendezvous))
}

// accept returns the next connection that introduces itself. Whatever else
// connects is dropped: it is not of this job.
func (g *group) accept(ln net.Listener) (*link, hello, error) {
	for {
		conn, err := ln.Accept()
		if err != nil {
			return nil, hello{}, err
		}
		l := newLink(conn, conn.RemoteAddr().String(), g.o.Timeout)
		var h hello
		if l.hear(&h, 5*time.Second) == nil {
			g.track(conn)
			return l, h, nil
		}
		conn.Close()
	}
}

// dial connects to addr, trying again until the time for the meeting is over:
// the ranks of a job start in any order.
func (g *group) dial(addr string) (net.Conn, error) {
	ctx, stop := context.WithTimeout(g.ctx, g.o.Rendezvous)
	defer stop()
	var d net.Dialer
	var last error
	for wait := 10 * time.Millisecond; ; wait = min(2*wait, 500*time.Millisecond) {
		conn, err := d.DialContext(ctx, "tcp", addr)
		if err == nil && conn.LocalAddr().String() == conn.RemoteAddr().String() {
			// While nobody listens on a port of the ephemeral range, TCP's
			// simultaneous open may connect a socket to itself.
			conn.Close()
			err = errors.New("nobody listens there yet")
		}
		if err == nil {
			g.track(conn)
			return conn, nil
		}
		if last == nil || ctx.Err() == nil {
			last = err // the last refusal says more than "deadline exceeded"
		}
		select {
		case <-ctx.Done():
			return nil, last
		case <-time.After(wait):
		}
	}
}

// connect opens a data connection to a rank.
func (g *group) connect(rank int) (*link, error) {
	conn, err := g.dial(g.addrs[rank])
	if err != nil {
		return nil, fmt.Errorf("%s cannot be reached: %w", g.title(rank), err)
	}
	l := newLink(conn, g.title(rank), g.o.Timeout)
	return l, l.tell(g.hello())
}

// peers waits for the data connections of ranks first to first+n−1.
func (g *group) peers(first, n int) ([]*link, error) {
	links := make([]*link, n)
	for met := 0; met < n; {
		l, h, err := g.accept(g.data)
		if err != nil {
			return nil, fmt.Errorf("%d of the peers of %s did not connect within %s: %w", n-met, g.o.name(g.rank), g.o.Rendezvous, err)
		}
		if i := h.Rank - first; i >= 0 && i < n && links[i] == nil && h.Spec == g.o.spec() {
			l.peer, links[i] = g.title(h.Rank), l
			met++
		}
	}
	return links, nil
}

// watchParent returns a context that ends when the parent process is no
// longer pid, so that a killed launcher leaves nothing behind. A process
// whose parent dies is handed to another at once, which is what shows.
func watchParent(ctx context.Context, pid int) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithCancelCause(ctx)
	stop := func() { cancel(context.Canceled) }
	if pid == 0 {
		return ctx, stop
	}
	check := func() bool {
		if p := os.Getppid(); p != pid {
			cancel(fmt.Errorf("the launcher, process %d, is gone: the parent is process %d", pid, p))
			return false
		}
		return true
	}
	go func() {
		tick := time.NewTicker(250 * time.Millisecond)
		defer tick.Stop()
		for check() {
			select {
			case <-tick.C:
			case <-ctx.Done():
				return
			}
		}
	}()
	return ctx, stop
}
