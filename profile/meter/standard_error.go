package meter

import (
	"math"

	"gonum.org/v1/gonum/stat/distuv"
)

// Batch means behind a standard error: from mostMeans/2 to mostMeans of them,
// so that batches grow with the trial and what correlates within one does not
// between two.
const mostMeans = 48

// correlations is the number of autocorrelations that are weighed.
const correlations = 32

// standardError returns the standard error of the mean of batches: half the
// half-width of its 95 % interval, so that the mean ± 2 standard errors is
// that interval. It is infinite for fewer than three.
func standardError(bs []batch) float64 {
	k := 1
	for len(bs)/k > mostMeans {
		k *= 2
	}
	bs = merged(bs, k)
	if len(bs) > 1 && bs[0].n < bs[1].n {
		bs = bs[1:]
	}
	if len(bs) > 2 && bs[len(bs)-1].n < bs[0].n {
		bs = bs[:len(bs)-1] // not full yet
	}
	x := make([]float64, len(bs))
	for i, b := range bs {
		x[i] = b.mean()
	}
	return credible95(x) / 2
}

// component is the posterior of the mean under one autocorrelation: Student's
// t with as many degrees of freedom as there are values less one.
type component struct{ mean, scale, weight float64 }

// credible95 returns half the width of the interval around the average of x
// that holds the mean of the process with a probability of 95 %.
//
// The process is taken to be autoregressive of first order, and its
// autocorrelation φ is not estimated but integrated over: with Jeffreys' prior
// 1/√(1−φ²) for φ, the same as a uniform one of arcsin φ (Zellner, "An
// Introduction to Bayesian Inference in Econometrics", 1971, §7.1), and that
// for scale, the posterior of the mean is a mixture of t distributions. Where
// few values leave φ open the interval is wide, which keeps a trial from being
// ended by luck; and a posterior, unlike a confidence interval, means the same
// whatever rule ended the observation (Berger and Wolpert, "The Likelihood
// Principle", 1988, §4.2).
func credible95(x []float64) float64 {
	n := len(x)
	if n < 3 {
		return math.Inf(1)
	}
	mixture, total := posterior(x)
	if total == 0 {
		return 0 // all alike
	}
	t := distuv.StudentsT{Sigma: 1, Nu: float64(n - 1)}
	outside := func(h float64) float64 {
		p := 0.0
		for _, c := range mixture {
			p += c.weight / total * (t.CDF((-h-c.mean)/c.scale) + t.CDF((c.mean-h)/c.scale))
		}
		return p
	}
	lo, hi := 0.0, 0.0
	for _, c := range mixture {
		hi = math.Max(hi, math.Abs(c.mean)+c.scale*t.Quantile(.975))
	}
	for range 24 { // to 2⁻²⁴ of the widest component
		if h := (lo + hi) / 2; outside(h) > .05 {
			lo = h
		} else {
			hi = h
		}
	}
	return hi
}

// posterior returns the posterior of the mean of x, less its average, for
// autocorrelations spread evenly over arcsin φ, and the sum of their weights.
// With R the correlation matrix of the process, tridiagonal when inverted, the
// weight is |R|^(−½) (1'R⁻¹1)^(−½) S^(−(n−1)/2), S the squares that remain.
func posterior(x []float64) (mixture []component, total float64) {
	n := len(x)
	var centre, all, squares, cross float64
	for _, v := range x {
		centre += v / float64(n)
	}
	for i, v := range x {
		all += v - centre
		squares += (v - centre) * (v - centre)
		if i > 0 {
			cross += (v - centre) * (x[i-1] - centre)
		}
	}
	if squares <= 1e-18*centre*centre*float64(n) {
		return nil, 0
	}
	first, last := x[0]-centre, x[n-1]-centre
	best, logs := math.Inf(-1), [correlations]float64{}
	for i := range correlations {
		phi := math.Sin(math.Pi * ((float64(i)+.5)/correlations - .5))
		d := 1 - phi*phi
		ones := (2 + float64(n-2)*(1+phi*phi) - 2*float64(n-1)*phi) / d
		onesX := (first + last + (1+phi*phi)*(all-first-last) - phi*(2*all-first-last)) / d
		xx := (first*first + last*last + (1+phi*phi)*(squares-first*first-last*last) - 2*phi*cross) / d
		mean := onesX / ones
		rest := math.Max(xx-mean*onesX, math.SmallestNonzeroFloat64)
		logs[i] = -.5 * (float64(n-1)*math.Log(d) + math.Log(ones) + float64(n-1)*math.Log(rest))
		mixture = append(mixture, component{mean: mean, scale: math.Sqrt(rest / float64(n-1) / ones)})
		best = math.Max(best, logs[i])
	}
	for i := range mixture {
		mixture[i].weight = math.Exp(logs[i] - best)
		total += mixture[i].weight
	}
	return mixture, total
}
