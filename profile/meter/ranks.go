package meter

import (
	"maps"
	"slices"
	"time"

	"knee/data"
	"knee/profile/launch"
)

// ranks separates the ranks of a trial and chooses the one to meter.
type ranks struct {
	asked   int // data.Metrics.Rank
	want    int // data.AllRanks for the mean of all
	async   bool
	single  bool // there is one worker
	log     bool // of a job that may have been down
	samples float64
	moved   int // steps of all ranks
	clocks  map[int]*clock
	sums    map[int]RankTime
	current int               // the metered rank
	heard   bool              // current is valid
	pending map[int][]float64 // with AllRanks: step times of each rank not yet matched by the others
}

// RankTime is the mean step time of one rank.
type RankTime struct {
	Rank  int     `csv:"worker"`
	Steps int     `csv:"-"`
	Mean  float64 `csv:"step_time_s"` // seconds
}

// newRanks returns the ranks of a trial. Without worker want the last is metered.
func newRanks(asked int, c data.Config, log bool) ranks {
	want := asked
	if want >= c.Workers {
		want = max(0, c.Workers-1)
	}
	return ranks{asked: asked, want: want, async: c.ModeOrDefault() == data.PSAsync, single: c.Workers == 1, log: log, samples: c.SamplesPerStep(),
		clocks: map[int]*clock{}, sums: map[int]RankTime{}, pending: map[int][]float64{}}
}

// take reads one observation. timed says that it ends a step of the trial, mine
// that it is of the metered rank. When a preferred rank appears, s is reset.
func (r *ranks) take(o launch.Observation, s *series) (one step, timed, mine bool) {
	c := r.clocks[o.Rank]
	if c == nil {
		c = newClock(r.samples, r.single || o.Rank != launch.UnknownRank, r.log)
		r.clocks[o.Rank] = c
		r.moved++
	}
	if one, timed = c.advance(o); timed {
		r.moved++
	}
	if timed && o.Rank != launch.UnknownRank {
		t := r.sums[o.Rank]
		t.Rank, t.Steps = o.Rank, t.Steps+1
		t.Mean += (one.seconds - t.Mean) / float64(t.Steps)
		r.sums[o.Rank] = t
	}
	if r.want == data.AllRanks {
		one.seconds, timed = r.round(o.Rank, one.seconds, timed)
		return one, timed, o.Rank == slices.Min(slices.Collect(maps.Keys(r.clocks)))
	}
	if timed && r.prefers(o.Rank) {
		if r.heard {
			*s = series{}
		}
		r.current, r.heard = o.Rank, true
	}
	mine = !r.heard || o.Rank == r.current
	return one, timed && mine, mine
}

// prefers reports whether to meter a rank instead: the wanted, the lowest, then unknown ones.
func (r *ranks) prefers(rank int) bool {
	switch {
	case !r.heard:
		return true
	case r.current == r.want || rank == launch.UnknownRank:
		return false
	}
	return rank == r.want || r.current == launch.UnknownRank || rank < r.current
}

// mostPending is how many steps ranks may be apart, else one is left out.
const mostPending = 64

// round combines a step of every rank: the mean; for ps-async 1/Σ(1/tᵢ), per update.
func (r *ranks) round(rank int, seconds float64, timed bool) (float64, bool) {
	if !timed {
		return 0, false
	}
	r.pending[rank] = append(r.pending[rank], seconds)
	if len(r.pending[rank]) > mostPending {
		for other, waiting := range r.pending {
			if len(waiting) == 0 {
				delete(r.pending, other)
			}
		}
	}
	var sum, rate float64
	for _, waiting := range r.pending {
		if len(waiting) == 0 {
			return 0, false
		}
		sum += waiting[0]
		rate += 1 / waiting[0]
	}
	n := float64(len(r.pending))
	for other, waiting := range r.pending {
		r.pending[other] = append(waiting[:0], waiting[1:]...)
	}
	if r.async {
		return 1 / rate, true
	}
	return sum / n, true
}

// bars tells the progress bar of the training from others. Of bars inside one another, where
// one goes on after another, it is the longer: of steps around an evaluation, or inside a bar
// of epochs. Else it is the one that takes longest.
type bars struct {
	metered, last float64          // steps of the bar that is metered, and of the one before; 0 without one
	all           map[float64]*bar // by their steps
}

type bar struct {
	step, seconds float64
	at            time.Time
	around        bool // went on after another
	again         bool // began anew
}

// take reports whether a bar is metered in place of another.
func (b *bars) take(o launch.Observation) (instead bool) {
	if !(o.Total > 0) {
		return false
	}
	x := b.all[o.Total]
	switch {
	case x == nil:
		if b.all == nil {
			b.metered, b.all = o.Total, map[float64]*bar{}
		}
		x = &bar{}
		b.all[o.Total] = x
	case !(o.Step > x.step):
		x.again = true
	default:
		x.around = x.around || b.last != o.Total
		if seconds := o.StepTime * (o.Step - x.step); seconds > 0 {
			x.seconds += seconds
		} else {
			x.seconds += o.At.Sub(x.at).Seconds()
		}
	}
	x.step, x.at, b.last = o.Step, o.At, o.Total
	m := b.all[b.metered]
	switch nested := x.around || m.around; {
	case x == m, nested && o.Total < b.metered, !nested && x.seconds <= m.seconds:
		return false
	case !nested && !x.again && m.step < b.metered && o.Total < b.metered && x.seconds <= farthest*m.seconds:
		return false // m, which is longer, may go on: for ten times as long it is waited for
	}
	b.metered = o.Total
	return true
}
