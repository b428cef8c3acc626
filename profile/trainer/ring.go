package trainer

import "time"

// ring averages gradients with a ring all-reduce: every worker sends only to
// the next and receives only from the previous, 2(k−1)/k of the vector each,
// whatever the number of workers k.
type ring struct {
	g          *group
	rank, size int
	next, prev *link
	rate       float64 // learning rate
}

// newRing connects this worker to its two neighbours.
func newRing(g *group) (*ring, error) {
	k := g.o.Workers
	r := &ring{g: g, rank: g.rank, size: k, rate: g.o.learningRate(g.o.globalBatch())}
	var err error
	if r.next, err = g.connect((r.rank + 1) % k); err != nil {
		return nil, err
	}
	prev, err := g.peers((r.rank+k-1)%k, 1)
	if err != nil {
		return nil, err
	}
	r.prev = prev[0]
	return r, nil
}

// synchronize averages the gradient over all workers and applies it. The
// two scalars of the tally travel behind the gradient, for which room is
// reserved in its capacity.
func (r *ring) synchronize(step int64, params, grad []float64, t tally) (outcome, error) {
	start := time.Now()
	v := append(grad, t.loss, t.sumSqr)
	if err := r.allReduce(step, v); err != nil {
		return outcome{}, err
	}
	sync := time.Since(start)
	descend(params, grad, r.rate)
	n := len(grad)
	out := outcome{loss: v[n], sumSqr: v[n+1], sync: sync, last: r.g.o.isLast(step)}
	if r.rank == 0 { // who prints
		out.sqrMean = squaredNorm(grad)
	}
	return out, nil
}

// close has nothing to tell: a worker that is through has received all that
// its neighbours sent.
func (r *ring) close() error { return nil }

// allReduce replaces v, on every rank, by the sum over the ranks, the same
// bits everywhere. The order of the additions depends on the position in v
// and on the number of ranks only, so runs repeat exactly.
func (r *ring) allReduce(step int64, v []float64) error {
	k := r.size
	for i := range k - 1 { // after these, this rank holds the sum of segment rank+1
		if err := r.shift(step, r.segment(v, r.rank-i), r.segment(v, r.rank-i-1), true); err != nil {
			return err
		}
	}
	for i := range k - 1 {
		if err := r.shift(step, r.segment(v, r.rank-i+1), r.segment(v, r.rank-i), false); err != nil {
			return err
		}
	}
	return nil
}

// segment returns the i-th of size slices of v, i taken around the ring.
func (r *ring) segment(v []float64, i int) []float64 {
	lo, hi := slice(len(v), r.size, ((i%r.size)+r.size)%r.size)
	return v[lo:hi]
}

// shift sends one segment to the next rank while another arrives from the
// previous one. Both at once: a segment may exceed what the sockets buffer,
// and a ring of ranks that all send first would stand still.
func (r *ring) shift(step int64, out, in []float64, add bool) error {
	sent := make(chan error, 1)
	go func() { sent <- r.next.send(step, out) }()
	if err := r.prev.receive(step, in, add); err != nil {
		return err // the sender ends when the connections close
	}
	return <-sent
}
