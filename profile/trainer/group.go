package trainer

import (
	"context"
	"encoding/binary"
	"encoding/gob"
	"errors"
	"fmt"
	"io"
	"net"
	"strings"
	"sync/atomic"
	"syscall"
	"time"

	"knee/internal/list"
)

// group is this process' connections to other ranks. When one ends, its peers end too; only
// the launcher knows which ended first.
type group struct {
	o     *Options
	ctx   context.Context
	close context.CancelFunc // ends ctx
	step  atomic.Int64       // current step, for messages
}

func newGroup(ctx context.Context, o *Options) *group {
	g := &group{o: o}
	g.ctx, g.close = context.WithCancel(ctx)
	return g
}

// track closes c when the job ends, so that nothing blocks.
func (g *group) track(c io.Closer) { context.AfterFunc(g.ctx, func() { c.Close() }) }

func (g *group) link(conn net.Conn, rank int) *link {
	return newLink(conn, fmt.Sprintf("%s (%s)", g.o.name(rank), conn.RemoteAddr()), &g.step)
}

// listen opens a TCP listener with Rendezvous as its deadline; on all addresses if the host is
// none of this machine, such as a Kubernetes service.
func (g *group) listen(addr string) (net.Listener, error) {
	ln, err := net.Listen("tcp", addr)
	if errors.Is(err, syscall.EADDRNOTAVAIL) {
		if _, port, bad := net.SplitHostPort(addr); bad == nil {
			ln, err = net.Listen("tcp", ":"+port)
		}
	}
	if err != nil {
		return nil, fmt.Errorf("%s cannot listen for the other ranks: %w", g.o.name(g.o.Rank), err)
	}
	g.track(ln)
	return ln, ln.(*net.TCPListener).SetDeadline(time.Now().Add(g.o.Rendezvous))
}

// meet waits until all ranks have connected and sent hello. It drops others.
func (g *group) meet(ln net.Listener, ranks ...int) (links []*link, said []hello, err error) {
	links, said = make([]*link, len(ranks)), make([]hello, len(ranks))
	for missing := ranks; len(missing) > 0; {
		conn, err := ln.Accept()
		if err != nil {
			names := strings.Join(list.Map(missing, g.o.name), ", ")
			return nil, nil, fmt.Errorf("%s: waited %s for %s", g.o.name(g.o.Rank), g.o.Rendezvous, names)
		}
		g.track(conn)
		conn.SetReadDeadline(time.Now().Add(5 * time.Second))
		l, h := g.link(conn, 0), hello{}
		err = l.receive(&h)
		conn.SetReadDeadline(time.Time{})
		missing = nil
		for i, r := range ranks {
			if err == nil && h.Rank == r && links[i] == nil {
				l.peer = fmt.Sprintf("%s (%s)", g.o.name(r), conn.RemoteAddr())
				links[i], said[i] = l, h
			}
			if links[i] == nil {
				missing = append(missing, r)
			}
		}
	}
	return links, said, nil
}

// connect connects to a rank within Rendezvous: ranks start in any order.
func (g *group) connect(addr string, rank int) (*link, error) {
	ctx, stop := context.WithTimeout(g.ctx, g.o.Rendezvous)
	defer stop()
	var d net.Dialer
	var last error
	for wait := 10 * time.Millisecond; ; wait = min(2*wait, 500*time.Millisecond) {
		conn, err := d.DialContext(ctx, "tcp", addr)
		if err == nil && conn.LocalAddr().String() == conn.RemoteAddr().String() {
			// Without a listener, TCP's simultaneous open may connect a socket to itself.
			conn.Close()
			err = errors.New("no listener there yet")
		}
		if err == nil {
			g.track(conn)
			return g.link(conn, rank), nil
		}
		if last == nil || ctx.Err() == nil {
			last = err // more useful than "deadline exceeded"
		}
		select {
		case <-ctx.Done():
			return nil, fmt.Errorf("%s found no %s at %s within %s: %w", g.o.name(g.o.Rank), g.o.name(rank), addr, g.o.Rendezvous, last)
		case <-time.After(wait):
		}
	}
}

// link carries gob values to and from one rank, one goroutine each way.
type link struct {
	peer string        // "worker 2 (127.0.0.1:4711)", for messages
	step *atomic.Int64 // current step, for messages
	conn net.Conn
	enc  *gob.Encoder
	dec  *gob.Decoder
}

// hello is the first message of a rank on a connection.
type hello struct {
	Rank int
	Addr string // its address for the previous rank of the ring
}

// vector is the wire form of numbers: float64, little-endian.
type vector []byte

// packed encodes v, reusing the memory of over.
func packed(over vector, v []float64) vector {
	out, _ := binary.Append(over[:0], binary.LittleEndian, v) // cannot fail for []float64
	return out
}

// unpack decodes exactly len(v) numbers that the peer sent into v.
func (l *link) unpack(b vector, v []float64) error {
	if len(b) != 8*len(v) {
		return fmt.Errorf("%s broke the protocol: it sent %d bytes, want %d numbers", l.peer, len(b), len(v))
	}
	_, err := binary.Decode(b, binary.LittleEndian, v)
	return err
}

func newLink(conn net.Conn, peer string, step *atomic.Int64) *link {
	return &link{peer: peer, step: step, conn: conn, enc: gob.NewEncoder(conn), dec: gob.NewDecoder(conn)}
}

func (l *link) send(v any) error { return l.blame(l.enc.Encode(v)) }

func (l *link) receive(v any) error { return l.blame(l.dec.Decode(v)) }

func (l *link) blame(err error) error {
	if err == nil {
		return nil
	}
	if step := l.step.Load(); step > 0 {
		return fmt.Errorf("%s left during step %d: %w", l.peer, step, err)
	}
	return fmt.Errorf("%s left before the first step: %w", l.peer, err)
}
