package trainer

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"sync"
	"sync/atomic"
	"time"
)

// group is this process's view of the job's other processes. Every rank
// keeps one control connection to rank 0. Heartbeats on it tell a hung rank
// from a slow one, and rank 0, the first to learn of a death, tells all
// others which rank it was: without that, a death would spread along the
// ring and most ranks would blame a neighbour that only followed suit.
type group struct {
	o      *Options
	rank   int
	ctx    context.Context // ends with the job; its cause says why
	cancel context.CancelCauseFunc
	parent context.Context
	step   atomic.Int64 // step in progress, for messages
	log    io.Writer

	addrs   []string      // data address of every rank
	data    net.Listener  // where peers reach this rank, nil if none do
	members []*link       // control connections: rank 0 has one to every other rank, the others one to rank 0
	left    chan struct{} // on rank 0, one value for each rank that said goodbye

	failing sync.Once
	mu      sync.Mutex  // guards what follows, and members
	closers []io.Closer // closed when the job ends, so that nothing blocks
	control []io.Closer // closed last, so that the reason still gets out
}

// grace is how long a rank that lost a peer waits for rank 0's verdict.
const grace = time.Second

// join meets the other ranks of the job at the master address. It returns
// once all are there and agree on what they train.
func join(parent context.Context, o *Options, log io.Writer) (*group, error) {
	g := &group{o: o, rank: o.Rank, parent: parent, log: log, addrs: make([]string, o.Workers+o.PS)}
	g.left = make(chan struct{}, len(g.addrs))
	g.ctx, g.cancel = context.WithCancelCause(parent)
	context.AfterFunc(g.ctx, g.closeAll)
	meet := g.lead
	if g.rank != 0 {
		meet = g.follow
	}
	if err := meet(); err != nil {
		err = g.verdict(err)
		g.close()
		return nil, err
	}
	return g, nil
}

// track makes sure c is closed when the job ends, so that nothing blocks.
func (g *group) track(c io.Closer) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.ctx.Err() != nil {
		c.Close()
	}
	g.closers = append(g.closers, c)
}

// trackControl makes sure c is closed when this rank is through.
func (g *group) trackControl(c io.Closer) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.control = append(g.control, c)
}

// enrol adds a control connection.
func (g *group) enrol(l *link) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.members = append(g.members, l)
}

func (g *group) closeAll() {
	g.mu.Lock()
	defer g.mu.Unlock()
	for _, c := range g.closers {
		c.Close()
	}
}

// close ends this rank's part. It is safe to call twice.
func (g *group) close() {
	g.cancel(errFinished)
	g.closeAll()
	g.mu.Lock()
	defer g.mu.Unlock()
	for _, c := range g.control {
		c.Close()
	}
}

var errFinished = errors.New("finished")

// spec is what all ranks must agree on.
type spec struct {
	Mode         string  `json:"mode"`
	Model        string  `json:"model"`
	MessageBytes int64   `json:"message_bytes"`
	Workers      int     `json:"workers"`
	PS           int     `json:"ps"`
	LocalBatch   float64 `json:"local_batch"`
	AccumSteps   int     `json:"accum_steps"`
	InitialBatch float64 `json:"initial_batch"`
	Steps        int     `json:"steps"`
	Seed         int64   `json:"seed"`
	LR           float64 `json:"lr"`
}

// hello introduces a rank.
type hello struct {
	Rank int    `json:"rank"`
	Addr string `json:"addr"` // where peers reach it
	Spec spec   `json:"spec"`
}

func (g *group) spec() spec {
	o := g.o
	return spec{string(o.Mode), o.Model, o.MessageBytes, o.Workers, o.PS, o.LocalBatch, o.AccumSteps, o.InitialBatch, o.Steps, o.Seed, o.LR}
}

// describe returns the spec as JSON, for messages.
func (s spec) describe() string {
	b, err := json.Marshal(s)
	if err != nil { // infinite or NaN options were refused before
		return err.Error()
	}
	return string(b)
}

// openData opens the listener this rank's peers connect to, if any, and
// notes its address. host is where this machine is reachable.
func (g *group) openData(host string) (err error) {
	g.addrs[g.rank] = host
	addr := ""
	switch {
	case g.o.Role == Server:
		addr = g.o.PSHosts[g.o.PSRank]
	case !g.o.Mode.UsesPS() && g.o.Workers > 1:
		addr = net.JoinHostPort(host, "0")
	default:
		return nil // nobody connects to a worker that uses servers
	}
	if g.data, err = listen(addr); err != nil {
		return fmt.Errorf("%s cannot listen for its peers: %w", g.o.name(g.rank), err)
	}
	g.track(g.data)
	g.addrs[g.rank] = addr
	if g.o.Role != Server {
		_, port, err := net.SplitHostPort(g.data.Addr().String())
		if err != nil {
			return err
		}
		g.addrs[g.rank] = net.JoinHostPort(host, port)
	}
	return nil
}

// lead is rank 0's side of the meeting.
func (g *group) lead() error {
	master := net.JoinHostPort(g.o.MasterAddr, fmt.Sprint(g.o.MasterPort))
	ln, err := listen(master)
	if err != nil {
		return fmt.Errorf("worker 0 cannot listen for the other ranks: %w", err)
	}
	g.track(ln)
	defer ln.Close()
	if err := g.openData(g.o.MasterAddr); err != nil {
		return err
	}
	arrivals := make(chan arrival)
	go g.accept(g.ctx, ln, g.trackControl, func(l *link, h hello) bool {
		select {
		case arrivals <- arrival{l, h}:
			return true
		case <-g.ctx.Done():
			return false
		}
	})
	if err := g.gather(arrivals, master); err != nil {
		return err
	}
	table, err := json.Marshal(g.addrs)
	if err != nil {
		return err
	}
	for _, l := range g.members {
		if err := l.send(kindWelcome, 0, table); err != nil {
			return err
		}
	}
	g.beat()
	return nil
}

// arrival is a rank that said hello, on its control connection.
type arrival struct {
	link  *link
	hello hello
}

// gather waits until every other rank has said hello.
func (g *group) gather(arrivals <-chan arrival, master string) error {
	deadline := time.NewTimer(g.o.Rendezvous)
	defer deadline.Stop()
	for len(g.members) < len(g.addrs)-1 {
		select {
		case a := <-arrivals:
			r := a.hello.Rank
			if why := g.refuse(a.hello); why != "" {
				fmt.Fprintf(g.log, "knee train: refused %s: %s\n", a.link.peer, why)
				_ = a.link.send(kindAbort, 0, []byte("worker 0 refused this rank: "+why)) // it is not ours to mind if it is gone
				a.link.conn.Close()
				continue
			}
			g.addrs[r] = a.hello.Addr
			a.link.peer = g.title(r)
			g.enrol(a.link)
			go g.watch(a.link)
		case <-deadline.C:
			return fmt.Errorf("meeting at %s: waited %s for %s", master, g.o.Rendezvous, g.missing())
		case <-g.ctx.Done():
			return context.Cause(g.ctx)
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
	case h.Spec != g.spec():
		return fmt.Sprintf("%s trains %s, worker 0 trains %s", g.o.name(h.Rank), h.Spec.describe(), g.spec().describe())
	}
	return ""
}

// missing lists the ranks that have not joined.
func (g *group) missing() string {
	s := ""
	for r := 1; r < len(g.addrs); r++ {
		if g.addrs[r] == "" {
			if s != "" {
				s += ", "
			}
			s += g.o.name(r)
		}
	}
	return s
}

// title names a rank with its address, for messages.
func (g *group) title(rank int) string { return fmt.Sprintf("%s (%s)", g.o.name(rank), g.addrs[rank]) }

// follow is the other ranks' side of the meeting.
func (g *group) follow() error {
	master := net.JoinHostPort(g.o.MasterAddr, fmt.Sprint(g.o.MasterPort))
	conn, err := g.dial(master)
	if err != nil {
		return fmt.Errorf("%s found no worker 0 at %s within %s: %w", g.o.name(g.rank), master, g.o.Rendezvous, err)
	}
	g.trackControl(conn)
	interrupt := context.AfterFunc(g.ctx, func() { _ = conn.SetReadDeadline(time.Unix(1, 0)) }) // ends the wait for the welcome
	defer interrupt()
	g.addrs[0] = master
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
	if err := g.greet(l); err != nil {
		return err
	}
	g.enrol(l)
	g.beat()
	h, payload, err := l.receive(0, g.o.Rendezvous+g.o.Timeout)
	switch {
	case err != nil:
		return err
	case h.kind == kindAbort:
		g.fail(errors.New(string(payload))) // rank 0's words, not to be blamed on this rank
		return context.Cause(g.ctx)
	case h.kind != kindWelcome:
		return &peerError{l.peer, "broke the protocol", 0, fmt.Errorf("sent a %s, want a welcome", h.kind)}
	}
	var addrs []string
	if err := json.Unmarshal(payload, &addrs); err != nil || len(addrs) != len(g.addrs) {
		return &peerError{l.peer, "broke the protocol", 0, fmt.Errorf("sent %q, want %d addresses", payload, len(g.addrs))}
	}
	g.addrs = addrs
	go g.watch(l)
	return nil
}

// greet introduces this rank on a new connection.
func (g *group) greet(l *link) error {
	b, err := json.Marshal(hello{g.rank, g.addrs[g.rank], g.spec()})
	if err != nil {
		return err
	}
	return l.send(kindHello, 0, b)
}
