package trainer

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"net"
	"syscall"
	"time"
)

// listen opens a TCP listener. If the host is not one of this machine's own
// addresses, as with the name of a Kubernetes service, it listens on all.
func listen(addr string) (net.Listener, error) {
	ln, err := net.Listen("tcp", addr)
	if errors.Is(err, syscall.EADDRNOTAVAIL) {
		_, port, splitErr := net.SplitHostPort(addr)
		if splitErr != nil {
			return nil, err
		}
		return net.Listen("tcp", ":"+port)
	}
	return ln, err
}

// dial connects to addr, trying again until the rendezvous time is over: the
// ranks of a job start in any order.
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

// accept hands every connection that introduces itself to take, until the
// listener closes. Whatever else connects is dropped; it is not of this job.
// take reports whether it keeps the connection; track sees to its closing.
func (g *group) accept(ctx context.Context, ln net.Listener, track func(io.Closer), take func(*link, hello) bool) {
	for {
		conn, err := ln.Accept()
		if err != nil {
			return
		}
		track(conn)
		go func() {
			l := newLink(conn, conn.RemoteAddr().String(), g.o.Timeout)
			h, payload, err := l.receive(0, 5*time.Second)
			var who hello
			if err == nil && h.kind == kindHello {
				err = json.Unmarshal(payload, &who)
			}
			if err != nil || h.kind != kindHello || ctx.Err() != nil || !take(l, who) {
				conn.Close()
			}
		}()
	}
}

// peers waits on the data listener for the given ranks and returns their
// links in that order.
func (g *group) peers(ranks []int) ([]*link, error) {
	type found struct {
		i int
		l *link
	}
	ch := make(chan found, len(ranks))
	ctx, stop := context.WithTimeout(g.ctx, g.o.Rendezvous)
	defer stop()
	go g.accept(ctx, g.data, g.track, func(l *link, h hello) bool {
		for i, r := range ranks {
			if r == h.Rank && h.Spec == g.spec() {
				l.peer, l.timeout = g.title(r), g.dataTimeout()
				select {
				case ch <- found{i, l}:
					return true
				case <-ctx.Done():
					return false
				}
			}
		}
		return false
	})
	links := make([]*link, len(ranks))
	for met := 0; met < len(ranks); {
		select {
		case f := <-ch:
			if links[f.i] != nil {
				f.l.conn.Close() // a second connection of the same rank
				continue
			}
			links[f.i] = f.l
			met++
		case <-ctx.Done():
			for i, l := range links {
				if l == nil && g.ctx.Err() == nil {
					return nil, &peerError{g.title(ranks[i]), "did not connect", 0, nil}
				}
			}
			return nil, context.Cause(g.ctx)
		}
	}
	return links, nil
}

// connect opens a data connection to a rank.
func (g *group) connect(rank int) (*link, error) {
	conn, err := g.dial(g.addrs[rank])
	if err != nil {
		return nil, &peerError{g.title(rank), "cannot be reached", 0, err}
	}
	g.track(conn)
	l := newLink(conn, g.title(rank), g.dataTimeout())
	return l, g.greet(l)
}

// dataTimeout is longer than that of the heartbeats, so that of a chain of
// waiting ranks the one that hangs is blamed, by its missing heartbeat.
func (g *group) dataTimeout() time.Duration { return g.o.Timeout + g.o.Timeout/2 }
