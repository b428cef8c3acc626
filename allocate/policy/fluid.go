package policy

import (
	"cmp"
	"maps"
	"math"
	"slices"

	"knee/allocate"
)

// fluid is a cluster whose GPUs can be divided in fractions, moved at no cost, and
// exchanged between types; nothing else arrives. The weighted sum of completion times
// is smallest there if at every time the GPUs maximise
//
//	Σ_i c_i · f_i(k_i),   Σ_i k_i = GPUs
//
// with a constant c_i for every job, what a sample of it is worth, and if, where job i
// ends,
//
//	c_i · f_i(k_i) = weight_i + Σ_j c_j · (f_j after − f_j before)
//
// over the others: a sample less ends the job earlier by 1/f_i, which saves that time
// and gives its GPUs to the others for so long. These are Pontryagin's conditions of
// the control k. Where all speed-ups are k^p and weights 1 they give heSRPT (Berg,
// Vesilo and Harchol-Balter, Performance Evaluation 2020, theorem 3).
type fluid struct {
	gpus     float64 // of the cluster
	weight   []float64
	work     []float64 // samples, by job
	segments []segment // of the concave hulls of speeds, by job, then rising GPUs
}

// segment is a part of a hull: so many GPUs more make a job faster by so much.
type segment struct {
	job         int
	gpus, speed float64
	gain        float64 // speed of a GPU, × c of the job
}

// newFluid counts the GPUs of a type by their speed, see units.
func newFluid(s allocate.State) *fluid {
	f, unit := &fluid{}, units(s)
	for i := range s.Cluster.Nodes {
		if n := &s.Cluster.Nodes[i]; !n.Drained {
			f.gpus += unit[n.GPUType] * float64(n.GPUs)
		}
	}
	for i := range s.Jobs {
		j := &s.Jobs[i]
		// A minute at least, so that a job about to end does not outweigh all others.
		left := math.Max(cmp.Or(math.Max(0, j.Remaining), unknownWork), shortest)
		f.weight, f.work = append(f.weight, weightOf(j)), append(f.work, left*smallest(j))
		at := make([]segment, len(j.Options))
		for n := range j.Options {
			u := &j.Options[n].Use
			at[n] = segment{job: i, gpus: unit[u.GPUType] * float64(u.GPUs), speed: allocate.Goodput(&j.Options[n])}
		}
		slices.SortStableFunc(at, func(a, b segment) int { return cmp.Compare(a.gpus, b.gpus) })
		f.segments = append(f.segments, concaveHull(at)...)
	}
	return f
}

// units are the speeds of a GPU by type, relative to the mean of the types that a job can
// use: geometric means over the jobs.
func units(s allocate.State) map[string]float64 {
	sum, count := map[string]float64{}, map[string]float64{}
	for i := range s.Jobs {
		speeds, mean := map[string]float64{}, 0.0
		for n := range s.Jobs[i].Options {
			o := &s.Jobs[i].Options[n]
			if v := allocate.Goodput(o) / float64(o.Use.GPUs); v > speeds[o.Use.GPUType] {
				speeds[o.Use.GPUType] = v
			}
		}
		for _, t := range slices.Sorted(maps.Keys(speeds)) {
			mean += math.Log(speeds[t]) / float64(len(speeds))
		}
		for t, v := range speeds {
			sum[t], count[t] = sum[t]+math.Log(v)-mean, count[t]+1
		}
	}
	for t := range sum {
		sum[t] = math.Exp(sum[t] / count[t])
	}
	return sum
}

// concaveHull turns the sizes and speeds of the options of a job, by rising size, into
// the segments of their concave hull from the origin.
func concaveHull(at []segment) (out []segment) {
	var gpus, speed float64 // where out ends
	for _, s := range at {
		if s.speed <= speed {
			continue
		}
		next := segment{job: s.job, gpus: s.gpus - gpus, speed: s.speed - speed}
		for len(out) > 0 && out[len(out)-1].speed*next.gpus <= next.speed*out[len(out)-1].gpus {
			next.gpus, next.speed = next.gpus+out[len(out)-1].gpus, next.speed+out[len(out)-1].speed
			out = out[:len(out)-1]
		}
		out, gpus, speed = append(out, next), s.gpus, s.speed
	}
	return out
}

// worth is c, by job, 0 without work. It begins with one over the work, so that short jobs
// end first where several orders are at rest.
func (f *fluid) worth() []float64 {
	c := make([]float64, len(f.work))
	for i, work := range f.work {
		if work > 0 {
			c[i] = f.weight[i] / work
		}
	}
	for range rounds {
		f.improve(c)
	}
	return c
}

// improve replays the fluid cluster with c, and moves every c half way, in logarithms, to
// what the end of its job asks for.
func (f *fluid) improve(c []float64) {
	for n := range f.segments {
		s := &f.segments[n]
		s.gain = c[s.job] * s.speed / s.gpus
	}
	slices.SortStableFunc(f.segments, func(a, b segment) int { return cmp.Compare(b.gain, a.gain) })
	left := slices.Clone(f.work)
	for has := f.divide(left); ; {
		ended := f.pass(left, has)
		if len(ended) == 0 {
			return
		}
		after, gain, freed := f.divide(left), 0.0, 0.0
		for i := range left {
			if left[i] > 0 {
				gain += c[i] * (after[i].speed - has[i].speed)
			}
		}
		for _, i := range ended {
			freed += has[i].gpus
		}
		for _, i := range ended {
			c[i] = math.Sqrt(c[i] * (f.weight[i] + gain*has[i].gpus/freed) / has[i].speed)
		}
		has = after
	}
}

// pass takes off the work until the first 32nd of the running jobs has ended, and
// returns these.
func (f *fluid) pass(left []float64, has []share) (ended []int) {
	var ends []float64
	for i := range left {
		if left[i] > 0 && has[i].speed > 0 {
			ends = append(ends, left[i]/has[i].speed)
		}
	}
	if len(ends) == 0 {
		return nil
	}
	slices.Sort(ends)
	t := ends[(len(ends)-1)/32]
	for i := range left {
		if left[i] <= 0 {
			continue
		}
		if left[i] -= t * has[i].speed; left[i] <= 1e-9*f.work[i] {
			left[i] = 0
			ended = append(ended, i)
		}
	}
	return ended
}

// share is what a job has at a time.
type share struct{ gpus, speed float64 }

// divide gives the GPUs to the jobs with work left, the highest gain first.
func (f *fluid) divide(left []float64) []share {
	out, free := make([]share, len(left)), f.gpus
	for n := 0; n < len(f.segments) && free > 0; n++ {
		s := &f.segments[n]
		if left[s.job] <= 0 {
			continue
		}
		part := math.Min(1, free/s.gpus)
		free -= part * s.gpus
		out[s.job].gpus += part * s.gpus
		out[s.job].speed += part * s.speed
	}
	return out
}
