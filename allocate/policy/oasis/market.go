// Package oasis admits jobs online by the prices of future GPU time (Bao, Peng, Wu and Li,
// INFOCOM 2018): time is in slots, every GPU type has a price in every slot that rises from
// Low to High as it is booked, and a submitted job takes the schedule whose utility exceeds
// its price most, if any does. The utility of the admitted jobs is at least 1/(2α) of the
// maximum, α = ln(High/Low), whatever schedules a job can choose (theorem 4).
package oasis

import (
	"math"
	"slices"
)

// Market is the GPU time of a cluster and its bookings. Slots are numbered from 0.
type Market struct {
	GPUs      []float64 // of type k
	Low, High float64   // price of a GPU for a slot, when none is booked and when all are; Low > 0
	booked    map[int][]float64
}

// Job is the request of a job.
type Job struct {
	Work    float64 // > 0
	Options []Option
	// Utility is the value of completion after so many slots; it must not rise with slots.
	Utility func(slots int) float64
}

// Option is a gang that a job may hold for a slot.
type Option struct {
	Kind  int     // GPU type
	GPUs  float64 // > 0
	Speed float64 // work per slot
}

// Schedule is what a job holds, slot by slot.
type Schedule struct {
	From   int
	Choice []int // index of an option, −1 for none; the last is one
	Cost   float64
	Value  float64 // utility
}

// Price is that of a GPU of a type in a slot: Low·(High/Low)^(booked/all).
func (m *Market) Price(slot, kind int) float64 {
	if b := m.booked[slot]; b != nil && m.GPUs[kind] > 0 {
		return m.Low * math.Pow(m.High/m.Low, b[kind]/m.GPUs[kind])
	}
	return m.Low
}

// Book books a schedule from a slot on, or with sign −1 cancels it.
func (m *Market) Book(j *Job, s Schedule, from int, sign float64) {
	if m.booked == nil {
		m.booked = map[int][]float64{}
	}
	for n, c := range s.Choice {
		slot := s.From + n
		if c < 0 || slot < from {
			continue
		}
		if m.booked[slot] == nil {
			m.booked[slot] = make([]float64, len(m.GPUs))
		}
		m.booked[slot][j.Options[c].Kind] += sign * j.Options[c].GPUs
	}
}

// chunks is into how many parts the work of a job is divided.
const chunks = 60

// Offer returns, of the schedules that complete within a number of slots, the
// one whose utility exceeds its cost by most, and whether any does: the primal-dual
// algorithm (section 4.2). For every completion time, the cheapest schedule is
// found by dynamic programming over slots and chunks of work (algorithm 2). The
// work of a slot is rounded down to chunks, so that a schedule always completes.
func (m *Market) Offer(j *Job, now, slots int) (Schedule, bool) {
	least := slices.Repeat([]float64{math.Inf(1)}, chunks+1) // cost of having done so much
	least[0] = 0
	picks := make([][]int, 0, slots)
	best, payoff := Schedule{From: now}, 0.0
	end := -1
	for n := range slots {
		next, pick := m.extend(j, now+n, least)
		least, picks = next, append(picks, pick)
		if v := j.Utility(n+1) - least[chunks]; v > payoff {
			best.Cost, best.Value, payoff, end = least[chunks], j.Utility(n+1), v, n
		}
		if j.Utility(n+2) <= payoff {
			break // no later completion is worth more
		}
	}
	if end < 0 {
		return best, false
	}
	best.Choice = make([]int, end+1)
	for n, d := end, chunks; n >= 0; n-- {
		c := int(picks[n][d])
		best.Choice[n] = c
		if c >= 0 {
			d = max(0, d-progress(j, c))
		}
	}
	return best, true
}

// Hold is [Market.Offer] for a job that, once begun, holds one gang without a
// break until it is done, as a job whose workers are deployed once does (Zhou,
// Wang, Huang, Pang and Chen, DPS, IEEE TMC 2023).
func (m *Market) Hold(j *Job, now, slots int) (Schedule, bool) {
	best, payoff := Schedule{From: now}, 0.0
	for c, o := range j.Options {
		run := int(math.Ceil(j.Work / o.Speed * (1 - 1e-12)))
		for from := 0; from+run <= slots; from++ {
			var cost float64
			for n := range run {
				if !m.free(now+from+n, o) {
					cost = math.Inf(1)
					break
				}
				cost += m.Price(now+from+n, o.Kind) * o.GPUs
			}
			if v := j.Utility(from + run); v-cost > payoff {
				payoff, best.Cost, best.Value = v-cost, cost, v
				best.Choice = append(slices.Repeat([]int{-1}, from), slices.Repeat([]int{c}, run)...)
			}
		}
	}
	return best, payoff > 0
}

// free reports whether the gang of an option is not booked in a slot.
func (m *Market) free(slot int, o Option) bool {
	booked := 0.0
	if b := m.booked[slot]; b != nil {
		booked = b[o.Kind]
	}
	return booked+o.GPUs <= m.GPUs[o.Kind]+1e-9
}

// progress is the chunks that a slot of an option does.
func progress(j *Job, c int) int {
	return int(math.Min(chunks, chunks*j.Options[c].Speed/j.Work*(1+1e-12)))
}

// extend adds a slot: the least cost of having done d chunks by its end, and
// the option that does.
func (m *Market) extend(j *Job, slot int, before []float64) (after []float64, pick []int) {
	after, pick = slices.Clone(before), slices.Repeat([]int{-1}, len(before))
	for c, o := range j.Options {
		if !m.free(slot, o) {
			continue
		}
		cost, did := m.Price(slot, o.Kind)*o.GPUs, progress(j, c)
		if did == 0 {
			continue
		}
		for d := range after {
			if v := before[max(0, d-did)] + cost; v < after[d] && (d > 0) {
				after[d], pick[d] = v, c
			}
		}
	}
	return after, pick
}
