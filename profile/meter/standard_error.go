package meter

import (
	"math"

	"gonum.org/v1/gonum/stat"
	"gonum.org/v1/gonum/stat/distuv"
)

// mostMeans is how many batch means are behind the standard error of a long
// trial: batches grow with it, so that what correlates within one does not
// between two.
const mostMeans = 48

// Correlations that are weighed: of short memory, spread evenly over arcsin φ,
// and of long memory, spread evenly over H.
const (
	shortMemories = 32
	longMemories  = 16
)

// standardError returns the standard error of the mean of batches: half the
// half-width of its 95 % interval, so that the mean ± 2 standard errors is
// that interval. It is infinite for fewer than three.
func standardError(bs []batch) float64 { return credible95(means(bs)) / 2 }

// means returns the means of at most mostMeans batches of as many steps each;
// what is left over at either end is left out.
func means(bs []batch) []float64 {
	bs = merged(bs, (len(bs)+mostMeans-1)/mostMeans)
	if len(bs) > 1 && bs[0].n < bs[1].n {
		bs = bs[1:]
	}
	if last := len(bs) - 1; last > 0 && bs[last].n < bs[0].n {
		bs = bs[:last] // not full yet
	}
	x := make([]float64, len(bs))
	for i, b := range bs {
		x[i] = b.mean()
	}
	return x
}

// component is the posterior of the mean under one correlation: Student's t
// with as many degrees of freedom as there are values less one.
type component struct{ mean, scale, weight float64 }

// credible95 returns half the width of the interval around the average of x
// that holds the mean of the process with a probability of 95 %.
//
// How steps correlate is not estimated but integrated over, in three models of
// equal prior. In one they are independent. With short memory the process is autoregressive of first order;
// the prior of its autocorrelation φ is Jeffreys' 1/√(1−φ²), the same as a
// uniform one of arcsin φ (Zellner, "An Introduction to Bayesian Inference in
// Econometrics", 1971, §7.1). With long memory, as of a machine whose speed
// drifts on every scale of time, it is fractional Gaussian noise, which batch
// means of any length are too (Beran, "Statistics for Long-Memory Processes",
// 1994, §2.3); the prior of its exponent H is uniform from ½, independence, to
// 1, where the mean says nothing. With Jeffreys' prior for the scale the
// posterior of the mean is a mixture of t distributions. Where
// few values leave the correlation open the interval is wide, which keeps a
// trial from being ended by luck; and a posterior, unlike a confidence interval,
// means the same whatever rule ended the observation (Berger and Wolpert, "The
// Likelihood Principle", 1988, §4.2).
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

// posterior returns the posterior of the mean of x, less its average, under
// every correlation, and the sum of their weights.
func posterior(x []float64) (mixture []component, total float64) {
	centre, sd := stat.PopMeanStdDev(x, nil)
	if sd <= 1e-9*centre {
		return nil, 0
	}
	values, lags := make([]float64, len(x)), make([]float64, len(x))
	for i, v := range x {
		values[i] = v - centre
	}
	for _, c := range correlations() {
		for k := range lags {
			lags[k] = c.at(float64(k))
		}
		mixture = append(mixture, under(values, c.of, lags))
	}
	best := math.Inf(-1)
	for _, c := range mixture {
		best = math.Max(best, c.weight)
	}
	for i := range mixture {
		mixture[i].weight = math.Exp(mixture[i].weight - best)
		total += mixture[i].weight
	}
	return mixture, total
}

// correlation is that of values k apart, one of as many in its model.
type correlation struct {
	of int
	at func(k float64) float64
}

// correlations returns those of the three models.
func correlations() []correlation {
	all := []correlation{{1, func(k float64) float64 { return max(0, 1-k) }}}
	for i := range shortMemories {
		phi := math.Sin(math.Pi * ((float64(i)+.5)/shortMemories - .5))
		all = append(all, correlation{shortMemories, func(k float64) float64 { return math.Pow(phi, k) }})
	}
	for i := range longMemories {
		h2 := 1 + (float64(i)+.5)/longMemories // 2H
		all = append(all, correlation{longMemories, func(k float64) float64 {
			return (math.Pow(k+1, h2) - 2*math.Pow(k, h2) + math.Pow(math.Abs(k-1), h2)) / 2
		}})
	}
	return all
}

// under returns the posterior of the mean of x under the correlations rho[k] of
// values k apart, one of as many in its model; its weight is still a logarithm.
// With R the correlation matrix that is ln |R|^(−½) (1'R⁻¹1)^(−½) S^(−(n−1)/2), S
// being the squares that remain. What R⁻¹ makes of the values comes from their
// one-step prediction errors (Durbin and Levinson; Brockwell and Davis, "Time
// Series", 1991, §5.2).
func under(x []float64, of int, rho []float64) component {
	n := len(x)
	var ones, onesX, xx, logR float64
	ahead, before := make([]float64, n), make([]float64, n) // coefficients of the predictor
	variance := 1.0
	for t := range n {
		if t > 0 {
			partial := rho[t]
			for k := 1; k < t; k++ {
				partial -= before[k] * rho[t-k]
			}
			partial /= variance
			for k := 1; k < t; k++ {
				ahead[k] = before[k] - partial*before[t-k]
			}
			ahead[t] = partial
			variance *= 1 - partial*partial
			copy(before, ahead)
		}
		one, v := 1.0, x[t]
		for k := 1; k <= t; k++ {
			one -= ahead[k]
			v -= ahead[k] * x[t-k]
		}
		ones += one * one / variance
		onesX += one * v / variance
		xx += v * v / variance
		logR += math.Log(variance)
	}
	mean := onesX / ones
	rest := math.Max(xx-mean*onesX, math.SmallestNonzeroFloat64)
	return component{mean: mean, scale: math.Sqrt(rest / float64(n-1) / ones),
		weight: -.5*(logR+math.Log(ones)+float64(n-1)*math.Log(rest)) - math.Log(float64(of))}
}
