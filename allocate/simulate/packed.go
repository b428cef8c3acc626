package simulate

import (
	"fmt"
	"hash/fnv"

	"knee/allocate"
	"knee/allocate/place"
	"knee/fit/interference"
)

// Pairs gives the speeds of two jobs on the same GPUs, relative to alone: measured, or
// for other pairs one sample from the distribution that fits the measurements, which a
// policy learns when the pair has run.
type Pairs struct {
	known, truth shares
	model        *interference.Model
	seed         int64
}

// shares are the shares of rows, by the row without it.
type shares map[interference.Row]float64

// NewPairs fits the known pairs. truth has the speeds of others; for pairs in neither,
// seed chooses the sample.
func NewPairs(known, truth []interference.Row, seed int64) *Pairs {
	p := &Pairs{shares{}, shares{}, interference.Fit(known), seed}
	p.known.add(known)
	p.truth.add(truth)
	return p
}

func (s shares) add(rows []interference.Row) {
	for _, r := range rows {
		share := r.Share
		r.Share = 0
		s[r] = share
	}
}

// of is the share of a row, of that many workers or of any.
func (s shares) of(r interference.Row) (share float64, known bool) {
	if share, known = s[r]; !known {
		r.Workers = 0
		share, known = s[r]
	}
	return share, known
}

// draw is a number from 0 to 1, the same for the same text.
func (p *Pairs) draw(text ...any) float64 {
	h := fnv.New64a()
	fmt.Fprint(h, p.seed, text)
	const bits = 53
	return (float64(h.Sum64()>>(64-bits)) + .5) / (1 << bits)
}

// pair is the speed of a job beside another, relative to alone.
type pair struct {
	truth, expected float64
}

// besides are the pairs of a replay.
type besides struct {
	*Pairs
	pairs map[interference.Row]*pair
}

// of is the speed of a job beside another.
func (b *besides) of(j, other *running, gpuType string, workers int) *pair {
	row := interference.Row{Job: j.Application, Beside: other.Application, GPUType: gpuType, Workers: workers}
	x := b.pairs[row]
	if x != nil {
		return x
	}
	share, known := b.known.of(row)
	x = &pair{share, share}
	if b.pairs[row] = x; known {
		return x
	}
	p := b.model.Predict(row)
	x.expected = p.Fits * p.Share.Mean
	if x.truth, known = b.truth.of(row); !known && b.draw(min(row.Job, row.Beside), max(row.Job, row.Beside), gpuType) < p.Fits {
		x.truth = p.Quantile(b.draw(row))
	}
	return x
}

// leave stops jobs that were guests and are not in guests.
func (r *replay) leave(guests map[int]allocate.Guest) {
	for i, j := range r.active {
		if _, stays := guests[i]; j.guest && !stays {
			j.stop()
		}
	}
}

// lodge starts guests on the GPUs of their hosts. One that does not fit stops at once.
// The policy observes this, and the speeds of the others.
func (r *replay) lodge(s allocate.State, guests map[int]allocate.Guest) error {
	for i, j := range r.active {
		g, isGuest := guests[i]
		if !isGuest {
			continue
		}
		host := r.active[g.Host]
		to := s.Jobs[i].Options[g.Option]
		var both [2]*pair
		if host.nodes != nil { // else it could not be placed
			both = [2]*pair{r.besides.of(j, host, to.Use.GPUType, to.Use.GPUs), r.besides.of(host, j, to.Use.GPUType, to.Use.GPUs)}
			both[0].expected, both[1].expected = both[0].truth, both[1].truth
		}
		if host.nodes == nil || both[0].truth == 0 || both[1].truth == 0 {
			j.stop()
			continue
		}
		if err := r.apply(j, place.Placed{Choice: g.Option, Option: to, Nodes: host.nodes}); err != nil {
			return err
		}
		j.guest, j.beside, host.beside = true, host, j
	}
	return nil
}

// part ends the sharing of GPUs, which the other job keeps, and reports whether there was
// any.
func (j *running) part() bool {
	other := j.beside
	if other == nil {
		return false
	}
	j.beside, other.beside, j.guest, other.guest = nil, nil, false, false
	return true
}
