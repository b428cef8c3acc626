package oasis

import (
	"math"
	"slices"
	"testing"

	"pgregory.net/rapid"
)

// TestOfferByHand: two GPUs and three slots. A job of two GPU-slots pays least
// for one GPU at a time, but is worth 10, 9 and 8 as it completes after one, two
// or three slots. At prices of 1 it takes both GPUs at once for 2; where the
// first slot is full and the prices rise to 9 it waits.
func TestOfferByHand(t *testing.T) {
	m := &Market{GPUs: []float64{2}, Low: 1, High: 9}
	j := &Job{Work: 2, Options: []Option{{0, 1, 1}, {0, 2, 2}}, Utility: func(n int) float64 { return 11 - float64(n) }}
	s, ok := m.Offer(j, 0, 3)
	if !ok || len(s.Choice) != 1 || s.Choice[0] != 1 || s.Cost != 2 || s.Value != 10 {
		t.Fatalf("got %+v, %v", s, ok)
	}
	m.Book(j, s, 0, 1)
	if p := m.Price(0, 0); p != 9 {
		t.Errorf("price %g with all booked, want 9", p)
	}
	s, ok = m.Offer(j, 0, 3)
	if !ok || len(s.Choice) != 2 || s.Choice[0] != -1 || s.Choice[1] != 1 {
		t.Errorf("got %+v, %v; want both GPUs in the second slot", s, ok)
	}
	poor := &Job{Work: 2, Options: j.Options, Utility: func(int) float64 { return 1.5 }}
	if s, ok := m.Offer(poor, 0, 3); ok {
		t.Errorf("a job worth 1.5 takes %+v", s)
	}
	m.Book(j, Schedule{Choice: []int{1}}, 0, -1)
	if p := m.Price(0, 0); p != 1 {
		t.Errorf("price %g after it left, want 1", p)
	}
}

// TestOfferOfManyOptions: the best of two hundred sizes does the work of the job.
func TestOfferOfManyOptions(t *testing.T) {
	m := &Market{GPUs: []float64{1000}, Low: 1e-6, High: 1}
	j := &Job{Work: 400, Utility: func(n int) float64 { return 10 - float64(n) }}
	for n := 1.; n <= 200; n++ {
		j.Options = append(j.Options, Option{0, n, n})
	}
	s, ok := m.Offer(j, 0, 3)
	done := 0.0
	for _, c := range s.Choice {
		if c >= 0 {
			done += j.Options[c].Speed
		}
	}
	if !ok || done < j.Work {
		t.Errorf("%+v, %v does %g, want %g", s, ok, done, j.Work)
	}
}

// TestHoldByHand: two GPUs and four slots. A job of two GPU-slots takes both
// GPUs at once; where the first slot is booked by half it waits for one in which
// nobody is, and where every second slot is it takes one GPU for two slots.
func TestHoldByHand(t *testing.T) {
	m := &Market{GPUs: []float64{2}, Low: 1, High: 9}
	j := &Job{Work: 2, Options: []Option{{0, 1, 1}, {0, 2, 2}}, Utility: func(n int) float64 { return 20 - float64(n) }}
	one := func(slots ...int) {
		for _, slot := range slots {
			m.Book(j, Schedule{From: slot, Choice: []int{0}}, 0, 1)
		}
	}
	for _, tt := range []struct {
		book []int
		want []int
	}{{nil, []int{1}}, {[]int{0}, []int{-1, 1}}, {[]int{1, 2, 3}, []int{0, 0}}} {
		one(tt.book...)
		if s, ok := m.Hold(j, 0, 4); !ok || !slices.Equal(s.Choice, tt.want) {
			t.Errorf("with %v booked: %+v, %v, want %v", tt.book, s, ok, tt.want)
		}
	}
}

// TestCompetitive: on small instances of jobs that each take a fourth of the
// GPUs (the theorem wants demands that are small beside the capacity), all
// schedules tried, the utility of who
// is admitted is at least 1/(2α) of the most that could be had by who knows the
// future, α = ln(High/Low) at least 1 (theorem 4).
func TestCompetitive(t *testing.T) {
	for name, hold := range map[string]bool{"oasis": false, "dps": true} {
		t.Run(name, func(t *testing.T) { competitive(t, hold) })
	}
}

func competitive(t *testing.T, hold bool) {
	const slots, gpus = 2, 4
	worst := math.Inf(1)
	rapid.Check(t, func(t *rapid.T) {
		var jobs []*Job
		var arrive []int
		high, low := 0.0, math.Inf(1)
		for range rapid.IntRange(1, 7).Draw(t, "jobs") {
			value, decay := float64(rapid.IntRange(1, 30).Draw(t, "value")), rapid.Float64Range(0.3, 1).Draw(t, "decay")
			work := float64(rapid.IntRange(1, slots).Draw(t, "work"))
			j := &Job{Work: work, Options: []Option{{0, 1, 1}},
				Utility: func(n int) float64 { return value * math.Pow(decay, float64(n)) }}
			jobs, arrive = append(jobs, j), append(arrive, rapid.IntRange(0, slots-1).Draw(t, "arrives"))
			high = math.Max(high, j.Utility(1))
			low = math.Min(low, j.Utility(slots)/(4*work))
		}
		m := &Market{GPUs: []float64{gpus}, Low: low, High: high}
		var got float64
		for slot := range slots {
			for i, j := range jobs {
				if arrive[i] != slot {
					continue
				}
				offer := m.Offer
				if hold {
					offer = m.Hold
				}
				if s, ok := offer(j, slot, slots-slot); ok {
					m.Book(j, s, slot, 1)
					got += s.Value
				}
			}
		}
		for slot, b := range m.booked {
			if b[0] > gpus+1e-9 {
				t.Fatalf("%g of %d GPUs booked in slot %d", b[0], gpus, slot)
			}
		}
		best := most(jobs, arrive, make([]float64, slots), gpus, hold)
		alpha := math.Max(1, math.Log(high/low))
		if got*2*alpha < best-1e-9 {
			t.Fatalf("utility %g, the best is %g, more than 2α = %g times as much", got, best, 2*alpha)
		}
		if best > 0 {
			worst = math.Min(worst, got/best)
		}
	})
	t.Logf("the worst has %.2f of the best", worst)
}

// most is the largest utility of any admission and schedules; with hold, of
// those without a break.
func most(jobs []*Job, arrive []int, used []float64, gpus float64, hold bool) float64 {
	if len(jobs) == 0 {
		return 0
	}
	j := jobs[0]
	best := most(jobs[1:], arrive[1:], used, gpus, hold) // not admitted
	var try func(slot int, done float64)
	try = func(slot int, done float64) {
		if done >= j.Work-1e-9 {
			best = math.Max(best, j.Utility(slot-arrive[0])+most(jobs[1:], arrive[1:], used, gpus, hold))
			return
		}
		if slot == len(used) {
			return
		}
		if done == 0 || !hold {
			try(slot+1, done)
		}
		for _, o := range j.Options {
			if used[slot]+o.GPUs <= gpus {
				used[slot] += o.GPUs
				try(slot+1, done+o.Speed)
				used[slot] -= o.GPUs
			}
		}
	}
	try(arrive[0], 0)
	return best
}
