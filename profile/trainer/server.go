package trainer

import (
	"fmt"
	"io"
	"math"
	"sync"
	"time"

	"gonum.org/v1/gonum/floats"

	"knee/data"
)

type server struct {
	g       *group
	params  []float64
	workers []*link     // by rank
	grads   [][]float64 // the slice of each worker's last push
	pushes  []push      // each worker's last push
	out     io.Writer   // for the lines of ps-async; nil on all but server 0

	mu     sync.Mutex // ps-async: guards params and the fields below
	count  int        // updates applied
	issued int        // updates requested of workers
	last   time.Time  // of the latest update
}

// newServer prepares the slice and waits for all workers to connect.
func newServer(g *group, m *model, out io.Writer) (*server, error) {
	lo, hi := slice(m.size, g.o.PS, g.o.PSRank)
	s := &server{g: g, params: m.initial(g.o.Seed)[lo:hi:hi], pushes: make([]push, g.o.Workers)}
	if g.o.PSRank == 0 {
		s.out = out
	}
	ranks := make([]int, g.o.Workers)
	for r := range ranks {
		ranks[r], s.grads = r, append(s.grads, make([]float64, len(s.params)))
	}
	ln, err := g.listen(g.o.PSHosts[g.o.PSRank])
	if err == nil {
		s.workers, _, err = g.meet(ln, ranks...)
	}
	return s, err
}

// serve applies updates until every worker has sent Bye.
func (s *server) serve() error {
	if s.g.o.Mode == data.PSAsync {
		return s.serveAsync()
	}
	for step := int64(1); ; step++ {
		s.g.step.Store(step)
		if err := concurrently(len(s.workers), s.receive); err != nil {
			return err
		}
		for r, p := range s.pushes {
			if p.Bye != s.pushes[0].Bye {
				return fmt.Errorf("%s is out of step with worker 0 in step %d", s.workers[r].peer, step)
			}
		}
		if s.pushes[0].Bye {
			return nil
		}
		answer := s.apply()
		if err := concurrently(len(s.workers), func(r int) error { return s.workers[r].send(answer) }); err != nil {
			return err
		}
	}
}

func (s *server) receive(rank int) error {
	p := &s.pushes[rank]
	*p = push{Gradient: p.Gradient[:0]}
	if err := s.workers[rank].receive(p); err != nil || p.Bye {
		return err
	}
	return s.workers[rank].unpack(p.Gradient, s.grads[rank])
}

// apply adds the gradients in the order of ranks, so that runs repeat exactly.
func (s *server) apply() reply {
	sum := s.grads[0]
	for _, g := range s.grads[1:] {
		floats.Add(sum, g)
	}
	descend(s.params, sum, s.g.o.learningRate(s.g.o.globalBatch()))
	answer := reply{Parameters: packed(nil, s.params), SqrSum: squaredNorm(sum)}
	for _, p := range s.pushes {
		answer.Loss += p.Tally.Loss
		answer.SumSqr += p.Tally.SumSqr
	}
	return answer
}

func (s *server) serveAsync() error {
	s.last = time.Now()
	s.g.step.Store(1)
	s.issued = len(s.workers) // the first push of every worker
	if n := s.g.o.Steps; n > 0 {
		s.issued = min(s.issued, n)
	}
	return concurrently(len(s.workers), func(r int) error {
		var answer reply
		for {
			if err := s.receive(r); err != nil || s.pushes[r].Bye {
				return err
			}
			if err := s.update(r, &answer); err != nil {
				return err
			}
			if err := s.workers[r].send(answer); err != nil {
				return err
			}
		}
	})
}

func (s *server) update(rank int, answer *reply) error {
	rate := s.g.o.learningRate(s.g.o.updateBatch(rank))
	s.mu.Lock()
	defer s.mu.Unlock()
	descend(s.params, s.grads[rank], rate)
	answer.Parameters = packed(answer.Parameters, s.params)
	s.count++
	s.g.step.Store(int64(s.count) + 1)
	if n := s.g.o.Steps; n > 0 && s.issued >= n {
		answer.Last = true
	} else {
		s.issued++
	}
	return s.report(s.pushes[rank])
}

// report prints the update just applied, with the time since the one before by any worker. A
// worker's exchange time is divided by the number of workers: step minus sync time is then,
// on average, the computing per update.
func (s *server) report(p push) error {
	now := time.Now()
	took := now.Sub(s.last)
	if s.last = now; s.out == nil {
		return nil
	}
	return record{Step: s.count, StepTime: known(took.Seconds()), SyncTime: known(p.Sync / float64(len(s.workers))),
		Loss: known(p.Tally.Loss), GradSqr: known(p.Tally.GradSqr), GradVar: known(p.Tally.GradVar)}.print(s.out)
}

func descend(params, grad []float64, rate float64) { floats.AddScaled(params, -rate, grad) }

func squaredNorm(v []float64) float64 { return floats.Dot(v, v) }

// concurrently calls f(0) to f(n−1) at once and returns the first error at once.
func concurrently(n int, f func(int) error) error {
	errs := make(chan error, n)
	for i := range n {
		go func() { errs <- f(i) }()
	}
	for range n {
		if err := <-errs; err != nil {
			return err
		}
	}
	return nil
}

// psClient pushes each server its slice of the gradient and pulls new parameters.
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
		return l.unpack(c.replies[j].Parameters, params[lo:hi])
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
	// In ps-async server 0 counts the updates of all workers.
	out.last = c.o.isLast(step)
	if c.o.Mode == data.PSAsync {
		out.last = first.Last
	}
	return out, nil
}

func (c *psClient) close() error {
	return concurrently(len(c.servers), func(j int) error { return c.servers[j].send(push{Bye: true}) })
}
