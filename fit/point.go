package fit

import (
	"math"
	"slices"

	"knee/data"
)

// point is a configuration reduced to the numbers that the families use.
type point struct {
	workers, nodes, widest float64
	servers                float64 // at least 1: a job without servers of its own has one place that updates
	batch                  float64 // samples per worker per micro-step
	global                 float64 // samples per step; per update in ps-async
	accum                  float64 // extra micro-steps
	runs                   float64 // measurements of this configuration that were merged, at least 1
	alignment              float64 // how often the batch can be halved, at most 3 times; 0 unless it is whole
	// Natural logarithms of the above, taken once.
	lnWorkers, lnNodes, lnWidest, lnServers, lnBatch, lnGlobal float64
	// ln of what a ring of all workers, and one of those on the widest node,
	// sends over each link relative to a ring of two; 0 for one worker.
	lnRing, lnRingWidest float64
}

// scale is the typical size of a set of measurements. Forms use it for their
// priors and for configurations whose batch is not known.
type scale struct {
	batch   float64 // geometric median of the distinct local batches, 1 if none is known
	global  float64 // geometric median of the distinct global batches, 1 if none is known
	compute float64 // s, geometric median of the compute time of a micro-step
	step    float64 // s, geometric median of the step time
	fixed   bool    // the global batch, not the local one, was held constant
	linked  bool    // the GPUs of a node are joined by NVLink
	crowded bool    // workers compute on the processors of their node, which they share
}

// scaleOf measures the measurements. They must be ok, and at least one.
func scaleOf(ms []data.Measurement) scale {
	s := scale{batch: 1, global: 1}
	var local, global, compute, step []float64
	distinctLocal, distinctGlobal := map[float64]bool{}, map[float64]bool{}
	for _, m := range ms {
		if m.LocalBatch > 0 {
			if b := m.LocalBatch; !distinctLocal[b] {
				distinctLocal[b] = true
				local = append(local, b)
			}
			// Rounded, because a fixed global batch divided by the workers
			// and multiplied again differs in the last bit.
			if g := math.Round(m.SamplesPerStep()*1e6) / 1e6; g > 0 && !distinctGlobal[g] {
				distinctGlobal[g] = true
				global = append(global, g)
			}
		}
		if t, ok := computeTime(m); ok {
			compute = append(compute, t)
		}
		step = append(step, m.StepTime)
	}
	if len(local) > 0 {
		s.batch, s.global = geometricMedian(local), geometricMedian(global)
		s.fixed = len(distinctGlobal) < len(distinctLocal)
	}
	s.step = geometricMedian(step)
	s.compute = s.step
	if len(compute) > 0 {
		s.compute = geometricMedian(compute)
	}
	return s
}

// on adds what is known of the hardware of a GPU type; of types that are not
// known that is nothing.
func (s scale) on(gpuType string) scale {
	f, _ := data.FindGPU(gpuType)
	s.linked, s.crowded = f.Link > 0, gpuType == "cpu"
	return s
}

// geometricMedian is the middle of values > 0, exactly where their number is
// odd, so that a single batch stays the whole number that it is.
func geometricMedian(values []float64) float64 {
	v := slices.Sorted(slices.Values(values))
	if n := len(v); n%2 == 0 {
		return math.Sqrt(v[n/2-1]) * math.Sqrt(v[n/2])
	}
	return v[len(v)/2]
}

// computeTime returns the seconds of one micro-step that were not spent
// synchronising, if that was measured. A lone worker does nothing else, so
// there the step time itself is the answer. At least a fiftieth of the step
// is taken to be compute, whatever the timers said.
func computeTime(m data.Measurement) (float64, bool) {
	if m.SyncTime <= 0 && (m.Workers > 1 || m.Mode.UsesPS()) {
		return 0, false
	}
	return math.Max(m.StepTime-m.SyncTime, 0.02*m.StepTime) / float64(m.AccumSteps+1), true
}

// pointOf prepares a configuration. An unknown batch becomes the typical one.
func pointOf(c data.Config, s scale) point {
	p := point{
		runs:    1,
		workers: float64(max(c.Workers, 1)),
		nodes:   float64(c.NodeCount()),
		widest:  float64(max(c.WidestNode(), 1)),
		servers: float64(max(c.PS, 1)),
		accum:   float64(max(c.AccumSteps, 0)),
		batch:   c.LocalBatch,
		global:  c.SamplesPerStep(),
	}
	switch {
	case c.LocalBatch > 0:
	case s.fixed:
		p.global = s.global
		p.batch = s.global / p.workers / (p.accum + 1)
	default:
		c.LocalBatch = s.batch
		p.batch, p.global = s.batch, c.SamplesPerStep()
	}
	p.alignment = alignment(p.batch)
	p.lnWorkers, p.lnNodes, p.lnWidest = math.Log(p.workers), math.Log(p.nodes), math.Log(p.widest)
	p.lnServers, p.lnBatch, p.lnGlobal = math.Log(p.servers), math.Log(p.batch), math.Log(p.global)
	p.lnRing, p.lnRingWidest = lnRing(p.workers), lnRing(p.widest)
	return p
}

// lnRing is ln of 2(n−1)/n, the messages that a ring all-reduce of n sends
// over each of its links (Patarasuk and Yuan, "Bandwidth optimal all-reduce
// algorithms for clusters of workstations", 2009), which is 1 for two.
func lnRing(n float64) float64 {
	if n <= 1 {
		return 0
	}
	return math.Log(2 * (n - 1) / n)
}

// alignment counts the factors of two in a whole batch, up to the eight
// samples beyond which matrix units gain nothing from more.
func alignment(batch float64) float64 {
	n := 0.0
	for ; n < 3 && batch >= 2 && math.Mod(batch, 2) == 0; n++ {
		batch /= 2
	}
	return n
}

func pointsOf(ms []data.Measurement, s scale) []point {
	pts := make([]point, len(ms))
	for i, m := range ms {
		pts[i] = pointOf(m.Config, s)
	}
	return pts
}

// logistic maps the real line to (0, 1).
func logistic(x float64) float64 { return 1 / (1 + math.Exp(-x)) }

// logSumExp returns ln(eᵃ + eᵇ) without overflow; −Inf stands for a missing term.
func logSumExp(a, b float64) float64 {
	if a < b {
		a, b = b, a
	}
	if b-a < -37 || math.IsInf(b, -1) { // e⁻³⁷ is below the precision of 1
		return a
	}
	return a + math.Log1p(math.Exp(b-a))
}

// shifted returns a copy of x with d[i] added to entry i.
func shifted(x []float64, d map[int]float64) []float64 {
	y := slices.Clone(x)
	for i, v := range d {
		y[i] += v
	}
	return y
}
