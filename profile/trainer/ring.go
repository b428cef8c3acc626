package trainer

import (
	"net"
	"strconv"
	"time"

	"gonum.org/v1/gonum/floats"
)

// ring averages gradients: every worker sends only to the next and receives only from the
// previous, 2(k−1)/k of the vector each with k workers.
type ring struct {
	o          *Options
	next, prev *link
	out, in    vector    // buffers for a segment sent and received
	part       []float64 // buffer for a segment to add
}

// newRing connects the neighbours, if any, whose addresses rank 0 collects and sends.
func newRing(g *group) (*ring, error) {
	r, k := &ring{o: g.o}, g.o.Workers
	if k == 1 {
		return r, nil
	}
	following, before := (g.o.Rank+1)%k, (g.o.Rank+k-1)%k
	master := net.JoinHostPort(g.o.MasterAddr, strconv.Itoa(g.o.MasterPort))
	var addr string // address of the next rank
	var data net.Listener
	var err error
	if g.o.Rank == 0 {
		data, addr, err = g.lead(master)
	} else {
		data, addr, err = g.follow(master)
	}
	if err != nil {
		return nil, err
	}
	if r.next, err = g.connect(addr, following); err != nil {
		return nil, err
	}
	if err := r.next.send(hello{Rank: g.o.Rank}); err != nil {
		return nil, err
	}
	links, _, err := g.meet(data, before)
	if err != nil {
		return nil, err
	}
	r.prev = links[0]
	return r, nil
}

// lead is rank 0's side of the rendezvous.
func (g *group) lead(master string) (data net.Listener, next string, err error) {
	ln, err := g.listen(master)
	if err != nil {
		return nil, "", err
	}
	defer ln.Close()
	data, own, err := g.listenForPrevious(g.o.MasterAddr)
	if err != nil {
		return nil, "", err
	}
	ranks := make([]int, g.o.Workers-1)
	for i := range ranks {
		ranks[i] = i + 1
	}
	links, said, err := g.meet(ln, ranks...)
	if err != nil {
		return nil, "", err
	}
	said = append(said, hello{Addr: own}) // rank 0 follows the last
	for i, l := range links {
		if err := l.send(said[i+1].Addr); err != nil {
			return nil, "", err
		}
	}
	return data, said[0].Addr, nil
}

func (g *group) follow(master string) (data net.Listener, next string, err error) {
	l, err := g.connect(master, 0)
	if err != nil {
		return nil, "", err
	}
	host, _, err := net.SplitHostPort(l.conn.LocalAddr().String())
	if err != nil {
		return nil, "", err
	}
	data, own, err := g.listenForPrevious(host)
	if err != nil {
		return nil, "", err
	}
	if err := l.send(hello{g.o.Rank, own}); err != nil {
		return nil, "", err
	}
	err = l.receive(&next)
	return data, next, err
}

// listenForPrevious listens on a free port of a host of this machine.
func (g *group) listenForPrevious(host string) (net.Listener, string, error) {
	ln, err := g.listen(net.JoinHostPort(host, "0"))
	if err != nil {
		return nil, "", err
	}
	_, port, err := net.SplitHostPort(ln.Addr().String())
	return ln, net.JoinHostPort(host, port), err
}

// synchronize averages the gradient over all workers and applies it. The scalars of the tally
// are appended to the gradient, which has room for them.
func (r *ring) synchronize(step int64, params, grad []float64, t tally) (outcome, error) {
	start := time.Now()
	v := append(grad, t.Loss, t.SumSqr)
	if err := r.allReduce(v); err != nil {
		return outcome{}, err
	}
	sync := time.Since(start)
	if r.o.Workers == 1 {
		sync = 0
	}
	descend(params, grad, r.o.learningRate(r.o.globalBatch()))
	n := len(grad)
	return outcome{loss: v[n], sumSqr: v[n+1], sqrMean: squaredNorm(grad), sync: sync, last: r.o.isLast(step)}, nil
}

// close does nothing: a finished worker has received all.
func (r *ring) close() error { return nil }

// allReduce replaces v by the sum over the ranks. The order of the additions depends only on
// the position in v and on the number of ranks, so runs repeat exactly.
func (r *ring) allReduce(v []float64) error {
	k, rank := r.o.Workers, r.o.Rank
	for i := range k - 1 { // after these, this rank holds the sum of segment rank+1
		if err := r.shift(r.segment(v, rank-i), r.segment(v, rank-i-1), true); err != nil {
			return err
		}
	}
	for i := range k - 1 {
		if err := r.shift(r.segment(v, rank-i+1), r.segment(v, rank-i), false); err != nil {
			return err
		}
	}
	return nil
}

func (r *ring) segment(v []float64, i int) []float64 {
	k := r.o.Workers
	lo, hi := slice(len(v), k, ((i%k)+k)%k)
	return v[lo:hi]
}

// shift sends a segment to the next rank while another arrives from the previous one: if all
// sent first, a segment larger than the socket buffers would deadlock.
func (r *ring) shift(out, in []float64, add bool) error {
	r.out = packed(r.out, out)
	sent := make(chan error, 1)
	go func() { sent <- r.next.send(r.out) }()
	if err := r.prev.receive(&r.in); err != nil {
		return err // the sender ends when the connections close
	}
	to := in
	if add {
		r.part = append(r.part[:0], in...)
		to = r.part
	}
	if err := r.prev.unpack(r.in, to); err != nil {
		return err
	}
	if add {
		floats.Add(in, to)
	}
	return <-sent
}
