package meter

import (
	"math"

	"gonum.org/v1/gonum/stat"
	"gonum.org/v1/gonum/stat/distuv"
)

// mostMeans bounds the batch means: in longer trials they correlate less.
const mostMeans = 48

// Grid sizes: short memory, evenly in arcsin φ, and long memory, evenly in H.
const (
	shortMemories = 32
	longMemories  = 16
)

// standardError returns half the half-width (s) of the 95 % interval of the mean of batches;
// infinite for fewer than three.
func standardError(bs []batch) float64 { return credible95(means(bs)) / 2 }

// means returns the means of at most mostMeans batches of equal size, without incomplete
// ones. The overall mean is a ratio, seconds by steps, so a batch deviates by its steps
// (Cochran, "Sampling Techniques", 1977, §6.3).
func means(bs []batch) []float64 {
	bs = merged(bs, (len(bs)+mostMeans-1)/mostMeans)
	if len(bs) > 1 && bs[0].n < bs[1].n {
		bs = bs[1:]
	}
	if last := len(bs) - 1; last > 0 && bs[last].n < bs[0].n {
		bs = bs[:last] // not full yet
	}
	x, all := make([]float64, len(bs)), total(bs)
	for i, b := range bs {
		x[i] = all.mean() + (b.sum-all.mean()*b.steps)/all.steps*float64(len(bs))
	}
	return x
}

// component is the posterior of the mean under one correlation: t, n − 1 degrees.
type component struct{ mean, scale, weight float64 }

// credible95 returns half the width of the interval around the average of x
// that holds the mean of the process with a probability of 95 %.
//
// The correlation of steps is integrated over, in three models of equal prior: independent; short
// memory; long memory. With short memory the process is autoregressive of first order; the prior
// of its autocorrelation φ is Jeffreys' 1/√(1−φ²), uniform in arcsin φ (Zellner, "An Introduction
// to Bayesian Inference in Econometrics", 1971, §7.1). With long memory, as on a machine whose
// speed drifts on every time scale, it is fractional Gaussian noise, and so are batch means of
// any length (Beran, "Statistics for Long-Memory Processes", 1994, §2.3); the prior of its
// exponent H is uniform from ½, independence, to 1, where the data do not determine the mean.
// With Jeffreys' prior for the scale the posterior of the mean is a mixture of t distributions.
// With few values the correlation is uncertain and the interval wide, which avoids stopping by
// chance; and a posterior, unlike a confidence interval, does not depend on the stopping rule
// (Berger and Wolpert, "The Likelihood Principle", 1988, §4.2).
func credible95(x []float64) float64 {
	n := len(x)
	if n < 3 {
		return math.Inf(1)
	}
	mixture, total := posterior(x)
	if total == 0 {
		return 0 // all equal
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

// posterior returns the posterior of the mean of x minus its average under every correlation,
// and the sum of the weights, 0 if all values are equal.
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

// correlation is the autocorrelation at lag k at a grid point of a model.
type correlation struct {
	of int // grid points in its model
	at func(k float64) float64
}

// correlations returns the grid points of the three models.
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

// under returns the posterior of the mean of x under autocorrelations rho[k] at lag k, one of
// as many grid points in its model. Its weight is the logarithm ln |R|^(−½) (1'R⁻¹1)^(−½)
// S^(−(n−1)/2), with the correlation matrix R and the residual sum of squares S. Products with
// R⁻¹ come from one-step prediction errors (Durbin and Levinson; Brockwell and Davis, "Time
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

// warmup returns how many leading batches to drop: always the first, and those that the rule MSER
// selects (White, "An effective truncation heuristic for bias reduction in simulation output",
// Simulation 69, 1997) if they differ from the rest by more than chance explains at 5 %, by
// Bonferroni over the truncations that MSER chooses from. Without this test MSER also drops
// chance outliers, and the standard error of the rest is too small.
//
// Of n batches at most n/ln n are dropped. The end d of a warm-up is equally
// likely on a logarithmic scale, 1/(d ln n), and a lasting change of the
// machine's speed at any batch, 1/n: a slow spell longer than that is more
// likely such a change, which the mean and its standard error must include.
func warmup(bs []batch) int {
	n := len(bs)
	d := int(math.Min(float64(mser(bs)), float64(n)/math.Log(float64(n))))
	if d <= 1 {
		return min(1, n)
	}
	rest := bs[d:]
	_, dropped, _, _ := summary(bs[1:d])
	_, kept, _, _ := summary(rest)
	se := standardError(rest)
	limit := distuv.UnitNormal.Quantile(1 - .05/float64(n))
	// Variance of a mean ∝ 1/batches, for the dropped and the rest.
	if math.Abs(dropped-kept) <= limit*se*math.Sqrt(1+float64(len(rest))/float64(d-1)) {
		return 1
	}
	return d
}

// mser returns d in 1…n/2 that minimises Σ(x−mean)²/(n−d)² of the rest's means.
func mser(bs []batch) int {
	n := len(bs)
	best, at := math.Inf(1), 1
	var sum, sq float64
	for i := n - 1; i >= 1; i-- { // the rest grows towards the front
		x := bs[i].mean()
		sum += x
		sq += x * x
		k := float64(n - i)
		if i > n/2 {
			continue
		}
		if score := (sq - sum*sum/k) / (k * k); score <= best {
			best, at = score, i
		}
	}
	return at
}
