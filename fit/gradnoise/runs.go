package gradnoise

import (
	"cmp"
	"math"
	"slices"

	"knee/data"
	"knee/fit/convergence"
	"knee/internal/grouped"
	"knee/internal/quantile"
)

// FromRuns estimates the noise scale from the losses of runs at several batches that differ
// in nothing else: to the same loss, batch b takes (φ + b)/(φ + a) of the samples that
// batch a takes (McCandlish et al., "An Empirical Model of Large-Batch Training", 2018,
// section 2.3). Runs of one batch tell how much runs scatter. Phi is the posterior under a
// flat prior of ln φ from a thousandth of the smallest batch to a thousand times the
// largest: median, 5th and 95th percentiles. The initial batch is in samples. Without
// losses the metric counts. Runs without steps or with several batches are left out. It
// fails with a *[data.InputError] if no two runs at different batches come to the same
// loss.
func FromRuns(points []data.CurvePoint, initialBatch float64) (*Scale, error) {
	runs := coursesOf(points)
	var pairs []pair
	var same, spread float64 // pairs of one batch, and the mean square of their ratios
	for i, a := range runs {
		for _, b := range runs[i+1:] {
			p, ok := compare(a, b)
			switch {
			case ok && a.batch == b.batch:
				same++
				spread += (p.ratio*p.ratio - spread) / same
			case ok:
				pairs = append(pairs, p)
			}
		}
	}
	if len(pairs) == 0 || !(initialBatch > 0) {
		return nil, data.Invalid("global_batch", "no runs at different batches whose losses meet", "at least two, or grad_sqr and grad_var")
	}
	// Of n runs, n − 1 ratios are independent.
	independent := math.Min(1, float64(len(runs)-1)/float64(len(pairs)))
	const steps = 200
	low, high := math.Log(runs[0].batch/beyond), math.Log(runs[len(runs)-1].batch*beyond)
	var phis, logs []float64
	for i := range steps {
		phi := math.Exp(low + (high-low)*float64(i)/(steps-1))
		var fit float64
		for _, p := range pairs {
			off := p.ratio - math.Log((phi+p.b)/(phi+p.a))
			fit -= off * off / (2 * (p.variance + spread))
		}
		phis, logs = append(phis, phi), append(logs, independent*fit)
	}
	best := slices.Max(logs)
	for i := range logs {
		logs[i] = math.Exp(logs[i] - best)
	}
	at := func(p float64) float64 { return quantile.Weighted(phis, logs, p) }
	return &Scale{InitialBatch: initialBatch, Points: len(pairs), Phi: data.Estimate{Mean: at(.5), Lo: at(.05), Hi: at(.95)}}, nil
}

// course is the falling course of a run's loss over steps.
type course struct {
	batch  float64
	points []convergence.Point
}

// coursesOf returns the courses of the usable runs, by batch.
func coursesOf(points []data.CurvePoint) (out []course) {
	points = slices.DeleteFunc(slices.Clone(points), func(p data.CurvePoint) bool {
		return !(p.Step > 0 && p.GlobalBatch > 0) || math.IsInf(p.GlobalBatch, 1)
	})
	for i := range points {
		points[i].Progress = math.NaN() // steps count
	}
	_, of := grouped.By(points, func(p data.CurvePoint) string { return p.Run })
	for _, run := range convergence.Runs(points, 0) {
		batch := of[run.Name][0].GlobalBatch
		if len(run.Course) < 4 || slices.ContainsFunc(of[run.Name], func(p data.CurvePoint) bool { return p.GlobalBatch != batch }) {
			continue
		}
		out = append(out, course{batch, run.Lows()})
	}
	slices.SortStableFunc(out, func(a, b course) int { return cmp.Compare(a.batch, b.batch) })
	return out
}

// pair compares two runs at batches a ≤ b: ln of the samples that b takes to the
// losses of both, relative to a, and its variance.
type pair struct{ a, b, ratio, variance float64 }

// compare compares the runs at levels in the lower half of the losses that both
// have: noise grows during training (ibid., section 3.3).
func compare(a, b course) (pair, bool) {
	const levels = 16
	low := max(a.points[len(a.points)-1].Loss, b.points[len(b.points)-1].Loss)
	high := min(a.points[0].Loss, b.points[0].Loss)
	if !(low < high) {
		return pair{}, false
	}
	var mean, square, coarse float64
	for i := range levels {
		level := low + (high-low)*float64(i)/(2*levels)
		x, dx := a.at(level)
		y, dy := b.at(level)
		v := math.Log(y * b.batch / (x * a.batch))
		mean += v / levels
		square += v * v / levels
		coarse += (dx*dx + dy*dy) / levels
	}
	// Neighbouring levels depend on the same values: they count as two.
	return pair{a.batch, b.batch, mean, (square-mean*mean)/2 + coarse}, true
}

// at returns the step at which the course falls to a level, and the standard deviation of
// its logarithm if the step is anywhere between the neighbouring averages.
func (c *course) at(level float64) (step, sd float64) {
	i := slices.IndexFunc(c.points, func(p convergence.Point) bool { return p.Loss <= level })
	if i == 0 {
		return c.points[0].X, 0
	}
	p, q := c.points[i-1], c.points[i]
	share := (p.Loss - level) / (p.Loss - q.Loss)
	return p.X + share*(q.X-p.X), math.Log(q.X/p.X) / math.Sqrt(12)
}
