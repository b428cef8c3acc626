package trainer

import (
	"fmt"
	"math"
	"time"

	"knee/data"
)

// psClient is a worker's side of the parameter-server modes: it pushes each
// server its slice of the gradient and pulls the slice's new parameters.
type psClient struct {
	o       *Options
	servers []*link
	pushes  []push
	replies []reply
	sync    float64 // seconds of the previous exchange, NaN before the first
}

// push is what a worker sends a server. NaN means not known.
type push struct {
	Bye      bool // the worker has finished
	Gradient vector
	Tally    tally
	Sync     float64 // seconds its previous exchange took
}

type reply struct {
	Parameters           vector
	Loss, SumSqr, SqrSum float64 // ps-sync: over all workers; SqrSum of the slice
	Last                 bool    // ps-async: the worker must not push again
}

func newPSClient(g *group) (*psClient, error) {
	c := &psClient{o: g.o, pushes: make([]push, g.o.PS), replies: make([]reply, g.o.PS), sync: math.NaN()}
	for j, addr := range g.o.PSHosts {
		l, err := g.connect(addr, g.o.Workers+j)
		if err == nil {
			err = l.send(hello{Rank: g.o.Rank})
		}
		if err != nil {
			return nil, err
		}
		c.servers = append(c.servers, l)
	}
	return c, nil
}

// synchronize sends the gradient to all servers at once and receives parameters.
func (c *psClient) synchronize(step int64, params, grad []float64, t tally) (outcome, error) {
	start := time.Now()
	err := concurrently(len(c.servers), func(j int) error {
		lo, hi := slice(len(params), len(c.servers), j)
		l, p := c.servers[j], &c.pushes[j]
		*p = push{Gradient: packed(p.Gradient, grad[lo:hi]), Tally: t, Sync: c.sync}
		if err := l.send(p); err != nil {
			return err
		}
		c.replies[j] = reply{Parameters: c.replies[j].Parameters[:0]}
		if err := l.receive(&c.replies[j]); err != nil {
			return err
		}
		if err := c.replies[j].Parameters.unpack(params[lo:hi]); err != nil {
			return fmt.Errorf("%s broke the protocol: %w", l.peer, err)
		}
		return nil
	})
	if err != nil {
		return outcome{}, err
	}
	first := c.replies[0]
	out := outcome{loss: first.Loss, sumSqr: first.SumSqr, sync: time.Since(start)}
	for _, r := range c.replies {
		out.sqrMean += r.SqrSum
	}
	c.sync = out.sync.Seconds()
	// In ps-async server 0 counts the updates of all workers; in ps-sync every
	// worker's step is the same.
	out.last = c.o.isLast(step)
	if c.o.Mode == data.PSAsync {
		out.last = first.Last
	}
	return out, nil
}

func (c *psClient) close() error {
	for _, l := range c.servers {
		if err := l.send(push{Bye: true}); err != nil {
			return err
		}
	}
	return nil
}
