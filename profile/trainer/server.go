package trainer

import (
	"errors"
	"fmt"
	"io"
	"sync"
	"time"

	"gonum.org/v1/gonum/floats"

	"knee/data"
)

// server holds one slice of the parameters and applies the workers' pushes.
type server struct {
	g       *group
	params  []float64
	workers []*link     // by rank
	grads   [][]float64 // the slice of each worker's last push
	tails   [][]float64 // and its scalars
	out     io.Writer   // for the lines of ps-async; nil on all but server 0

	mu     sync.Mutex // ps-async: guards params and what follows
	count  int        // updates applied
	issued int        // updates workers were asked for
	last   time.Time  // of the latest update
}

// newServer prepares the slice and waits for all workers to connect.
func newServer(g *group, m *model, out io.Writer) (*server, error) {
	lo, hi := slice(m.size, g.o.PS, g.o.PSRank)
	s := &server{g: g, params: m.initial(g.o.Seed)[lo:hi:hi]}
	if g.o.PSRank == 0 {
		s.out = out
	}
	for range g.o.Workers {
		s.grads = append(s.grads, make([]float64, len(s.params)))
		s.tails = append(s.tails, make([]float64, pushScalars))
	}
	var err error
	s.workers, err = g.peers(0, g.o.Workers)
	return s, err
}

// serve applies updates until every worker has said goodbye.
func (s *server) serve() error {
	if s.g.o.Mode == data.PSAsync {
		return s.serveAsync()
	}
	for step := int64(1); ; step++ {
		s.g.step.Store(step)
		if done, err := s.collect(step); done || err != nil {
			return err
		}
		s.apply()
		if err := s.distribute(step); err != nil {
			return err
		}
	}
}

// receive reads the push of one worker.
func (s *server) receive(rank int, step int64) error {
	l := s.workers[rank]
	if err := l.receive(step, s.grads[rank], false); err != nil {
		return err
	}
	return l.receive(step, s.tails[rank], false)
}

// collect reads one push from every worker, in whatever order they come.
// done means that all workers have said goodbye instead.
func (s *server) collect(step int64) (done bool, err error) {
	byes := make([]bool, len(s.workers))
	err = concurrently(len(s.workers), func(r int) error {
		err := s.receive(r, step)
		if errors.Is(err, errBye) {
			byes[r] = true
			return nil
		}
		return err
	})
	if err != nil {
		return false, err
	}
	for r, bye := range byes {
		if bye != byes[0] {
			return false, fmt.Errorf("%s is out of step with worker 0 in step %d", s.workers[r].peer, step)
		}
	}
	return byes[0], nil
}

// apply adds the gradients, always in the order of the ranks so that runs
// repeat exactly, and takes the step. The sum ends up in grads[0].
func (s *server) apply() {
	sum := s.grads[0]
	for _, g := range s.grads[1:] {
		floats.Add(sum, g)
	}
	descend(s.params, sum, s.g.o.learningRate(s.g.o.globalBatch()))
}

// distribute returns the new parameters to all workers.
func (s *server) distribute(step int64) error {
	tail := make([]float64, replyScalars)
	for _, t := range s.tails {
		tail[replyLoss] += t[pushLoss]
		tail[replySumSqr] += t[pushSumSqr]
	}
	tail[replySqrMean] = squaredNorm(s.grads[0])
	return concurrently(len(s.workers), func(r int) error {
		return s.reply(r, step, s.params, tail)
	})
}

// reply sends parameters and scalars to one worker.
func (s *server) reply(rank int, step int64, params, tail []float64) error {
	if err := s.workers[rank].send(step, params); err != nil {
		return err
	}
	return s.workers[rank].send(step, tail)
}

// serveAsync serves every worker at its own pace.
func (s *server) serveAsync() error {
	s.last = time.Now()
	s.g.step.Store(1)
	s.issued = len(s.workers) // the pushes every worker makes unasked
	if n := s.g.o.Steps; n > 0 {
		s.issued = min(s.issued, n)
	}
	return concurrently(len(s.workers), func(r int) error {
		snapshot := make([]float64, len(s.params))
		for step := int64(1); ; step++ {
			if err := s.receive(r, step); errors.Is(err, errBye) {
				return nil
			} else if err != nil {
				return err
			}
			tail, err := s.update(r, snapshot)
			if err != nil {
				return err
			}
			if err := s.reply(r, step, snapshot, tail); err != nil {
				return err
			}
		}
	})
}

// update applies one worker's push at once, copies the newest parameters
// into snapshot and returns the scalars of the reply.
func (s *server) update(rank int, snapshot []float64) ([]float64, error) {
	rate := s.g.o.learningRate(s.g.o.updateBatch(rank))
	s.mu.Lock()
	defer s.mu.Unlock()
	descend(s.params, s.grads[rank], rate)
	copy(snapshot, s.params)
	s.count++
	s.g.step.Store(int64(s.count) + 1)
	tail := make([]float64, replyScalars)
	if n := s.g.o.Steps; n > 0 && s.issued >= n {
		tail[replyLast] = 1
	} else {
		s.issued++
	}
	return tail, s.report(s.tails[rank])
}

// report prints the update just applied. The time of a step is that between
// consecutive updates, whichever workers they came from, so that its mean is
// the inverse of the job's update rate. The time a worker spends exchanging
// is divided by the number of workers, on the same footing: step time minus
// sync time is then, on average, the computing behind one update.
func (s *server) report(tail []float64) error {
	now := time.Now()
	r := record{
		step: s.count, stepTime: now.Sub(s.last).Seconds(), syncTime: tail[pushSync] / float64(len(s.workers)),
		loss: tail[pushLoss], gradSqr: tail[pushGradSqr], gradVar: tail[pushGradVar],
	}
	s.last = now
	if s.out == nil {
		return nil
	}
	if err := r.print(s.out); err != nil {
		return fmt.Errorf("server %d: %w", s.g.o.PSRank, err)
	}
	return nil
}

// descend takes one step of gradient descent.
func descend(params, grad []float64, rate float64) { floats.AddScaled(params, -rate, grad) }

// squaredNorm returns |v|².
func squaredNorm(v []float64) float64 { return floats.Dot(v, v) }

// concurrently calls f(0) to f(n−1) at once and returns the first error as
// soon as it occurs; the remaining calls end when the connections close.
func concurrently(n int, f func(int) error) error {
	if n == 1 {
		return f(0)
	}
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
