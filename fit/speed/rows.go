package speed

import (
	"fmt"
	"math"

	"knee/data"
	"knee/fit/speed/form"
	"knee/internal/quantile"
)

// row is a configuration with its merged runs.
type row struct {
	data.Measurement
	runs     float64 // measurements merged into it
	se2      float64 // squared relative standard error of its step time, as recorded
	within   float64 // sum of squares of ln step time around their mean
	freedom  float64 // degrees of freedom of within
	inflated float64 // further variance of an outlier or a lower bound
}

// lnCompute returns ln of the compute time of one micro-step, s, if
// synchronisation was measured. Compute is taken to be at least a fiftieth of
// the step.
func (r *row) lnCompute() (float64, bool) {
	if r.SyncTime <= 0 {
		return 0, false
	}
	const least = .02
	return math.Log(math.Max(r.StepTime-r.SyncTime, least*r.StepTime) / float64(r.AccumSteps+1)), true
}

// scaleOf returns the scale of at least one row. If no batch is known the global
// batch is so large that no worker has less than a sample.
func scaleOf(rows []row) form.Scale {
	var s form.Scale
	var local, global, micro, step, replicas []float64
	distinctLocal, distinctGlobal := map[float64]bool{}, map[float64]bool{}
	for _, r := range rows {
		if b := r.LocalBatch; b > 0 {
			if !distinctLocal[b] {
				distinctLocal[b] = true
				local = append(local, b)
			}
			// Rounded: a fixed global batch divided by the workers and
			// multiplied again differs in the last bit.
			if g := math.Round(r.SamplesPerStep()*1e6) / 1e6; g > 0 && !distinctGlobal[g] {
				distinctGlobal[g] = true
				global = append(global, g)
			}
		}
		replicas = append(replicas, float64(r.Replicas()))
		t := r.StepTime / float64(r.AccumSteps+1)
		if ln, ok := r.lnCompute(); ok {
			t = math.Exp(ln)
		}
		micro = append(micro, t)
		cycle := r.StepTime
		if r.Mode == data.PSAsync {
			cycle *= float64(max(r.Workers, 1))
		}
		step = append(step, cycle)
	}
	if len(local) > 0 {
		s.Batch, s.Global = geometricMedian(local), geometricMedian(global)
		s.Fixed = len(distinctGlobal) < len(distinctLocal)
	} else {
		s.Global = 1 << 30
		if s.Batch = s.Global / geometricMedian(replicas); rows[0].Mode == data.PSAsync {
			s.Global = s.Batch
		}
	}
	s.Time, s.Step = geometricMedian(micro), geometricMedian(step)
	return s
}

// geometricMedian is the median of ln values, exponentiated, for values > 0;
// exact for an odd number of values, and for whole numbers up to rounding.
func geometricMedian(values []float64) float64 {
	if len(values)%2 == 1 {
		return quantile.Median(values)
	}
	ln := make([]float64, len(values))
	for i, v := range values {
		ln[i] = math.Log(v)
	}
	middle := math.Exp(quantile.Median(ln))
	if whole := math.Round(middle); math.Abs(middle-whole) < 1e-9*middle {
		return whole // whole batches stay whole
	}
	return middle
}

// repeatKey is equal for repeated runs of a configuration.
func repeatKey(m data.Measurement) string {
	if m.Architecture.Zero() {
		return m.Key()
	}
	return m.Key() + fmt.Sprint(m.Architecture)
}

// merge returns one row per configuration, in order of first appearance, with
// the geometric mean of the step times.
func merge(ms []data.Measurement) []row {
	at := make(map[string]int, len(ms))
	var rows []row
	var sync []float64
	for _, m := range ms {
		key := repeatKey(m)
		i, ok := at[key]
		if !ok {
			i = len(rows)
			at[key] = i
			rows = append(rows, row{Measurement: m})
			rows[i].StepTime = 0 // mean of the logarithms until the end
			sync = append(sync, 0)
		}
		r := &rows[i]
		// Welford's algorithm on ln step time.
		r.runs++
		ln := math.Log(m.StepTime)
		d := ln - r.StepTime
		r.StepTime += d / r.runs
		r.within += d * (ln - r.StepTime)
		r.freedom = r.runs - 1
		r.se2 += relativeVariance(m)
		sync[i] += math.Log(m.SyncTime / m.StepTime) // −Inf without a timer
	}
	for i := range rows {
		r := &rows[i]
		r.StepTime = math.Exp(r.StepTime)
		r.SyncTime = r.StepTime * math.Exp(min(sync[i]/r.runs, 0))
		r.se2 /= r.runs * r.runs
	}
	return rows
}

// relativeVariance is the squared relative standard error of a mean step time,
// at most 1; zero if not recorded.
func relativeVariance(m data.Measurement) float64 {
	return min(sq(m.StandardError()/m.StepTime), 1)
}
