package trainer

import (
	"math"
	"time"

	"knee/data"
)

// psClient is a worker's side of the parameter-server modes: it pushes each
// server its slice of the gradient and pulls the slice's new parameters.
type psClient struct {
	g       *group
	servers []*link
	tails   [][]float64 // last scalars from each server
	async   bool
	sync    float64 // seconds the previous exchange took, NaN before the first
}

// The scalars behind a push. NaN means not known.
const (
	pushLoss    = iota // the worker's share of the mean loss
	pushSumSqr         // sum of the squared norms of its samples' gradients
	pushGradSqr        // its own estimate of |G|² (ps-async)
	pushGradVar        // its own estimate of the gradient variance (ps-async)
	pushSync           // seconds its previous exchange took
	pushScalars
)

// The scalars behind the parameters a server returns.
const (
	replyLoss    = iota // mean loss over all workers (ps-sync)
	replySumSqr         // sum of squared norms over all workers (ps-sync)
	replySqrMean        // squared norm of the slice of the mean gradient (ps-sync)
	replyLast           // 1 if the worker shall push no more
	replyScalars
)

// newPSClient connects this worker to all servers.
func newPSClient(g *group) (*psClient, error) {
	c := &psClient{g: g, async: g.o.Mode == data.PSAsync, sync: math.NaN()}
	for j := range g.o.PS {
		l, err := g.connect(g.o.Workers + j)
		if err != nil {
			return nil, err
		}
		c.servers = append(c.servers, l)
		c.tails = append(c.tails, make([]float64, replyScalars))
	}
	return c, nil
}

// synchronize exchanges the gradient for new parameters with all servers at
// once.
func (c *psClient) synchronize(step int64, params, grad []float64, t tally) (outcome, error) {
	start := time.Now()
	tail := make([]float64, pushScalars)
	tail[pushLoss], tail[pushSumSqr], tail[pushSync] = t.loss, t.sumSqr, c.sync
	tail[pushGradSqr], tail[pushGradVar] = t.gradSqr, t.gradVar
	err := concurrently(len(c.servers), func(j int) error {
		lo, hi := slice(len(params), len(c.servers), j)
		l := c.servers[j]
		err := l.send(step, grad[lo:hi])
		if err == nil {
			err = l.send(step, tail)
		}
		if err == nil {
			err = l.receive(step, params[lo:hi], false)
		}
		if err == nil {
			err = l.receive(step, c.tails[j], false)
		}
		return err
	})
	if err != nil {
		return outcome{}, err
	}
	out := outcome{loss: c.tails[0][replyLoss], sumSqr: c.tails[0][replySumSqr], sync: time.Since(start)}
	for _, tail := range c.tails {
		out.sqrMean += tail[replySqrMean]
	}
	c.sync = out.sync.Seconds()
	// Server 0 counts the updates of all workers in ps-async; in ps-sync
	// everyone counts the same.
	out.last = c.g.o.isLast(step)
	if c.async {
		out.last = c.tails[0][replyLast] != 0
	}
	return out, nil
}

// close tells the servers that this worker is through.
func (c *psClient) close() error {
	for _, l := range c.servers {
		if err := l.bye(); err != nil {
			return err
		}
	}
	return nil
}
