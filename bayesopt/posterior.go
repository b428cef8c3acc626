package bayesopt

import (
	"cmp"
	"errors"
	"math"
	"slices"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/stat"
	"gonum.org/v1/gonum/stat/distuv"

	"knee/internal/list"
	"knee/internal/parallel"
)

const (
	// averageDraws is the number of draws from the prior: with a dozen measurements a
	// single best set of hyperparameters is overconfident. While the effective number of
	// draws is below enoughDraws, more follow, up to drawRounds times as many.
	averageDraws = 192
	drawRounds   = 8
	enoughDraws  = 16
	// averageKeep bounds the draws kept for prediction; averageCutoff is the weight,
	// relative to the largest, below which a draw cannot change a decision.
	averageKeep   = 64
	averageCutoff = 2e-3
)

// Posterior is a mixture of Gaussian processes with different hyperparameters.
// It is immutable.
type Posterior struct {
	members []weighted // in descending order of their shares, which sum to one
	fair    []weighted // resample of all draws, including unlikely ones
	record  record
	width   float64 // factor on the members' predictive standard deviations
}

// AverageGP averages over hyperparameters: draws of ln ℓ and ln ν from the
// prior, the same for the same seed, weighted by the marginal likelihood with
// σ² integrated out. At most keep members remain. Errors are those of [FitGP].
func AverageGP(x [][]float64, y []float64, p Prior, keep int, seed int64) (*Posterior, error) {
	return averageOver(x, []response{{y: y}}, nil, nil, p, keep, seed)
}

// response is one set of responses to the same inputs: the residuals of one
// prior mean. If that is fitted to the trials, surprise holds those of the mean
// before each trial but the first from.
type response struct {
	y, surprise []float64
	from        int
}

// averageOver averages over hyperparameters and several sets of responses,
// equally likely a priori. They share inputs and factorised kernel matrices.
// noise, if not nil, is the known measurement variance of each response; it is
// divided by an estimate of σ² without correlation. excess is for [newRecord].
func averageOver(x [][]float64, responses []response, noise, excess []float64, p Prior, keep int, seed int64) (*Posterior, error) {
	rng := NewRand(seed, 0)
	d := len(x[0])
	var extra []float64
	if noise != nil {
		n := float64(len(noise))
		sigma2 := (sigmaScale + 0.5*n*stat.PopVariance(responses[0].y, nil)) / (sigmaShape + 0.5*n)
		extra = slices.Clone(noise)
		floats.Scale(1/sigma2, extra)
	}
	var draws []weighted
	inputs := slices.CompactFunc(slices.SortedFunc(slices.Values(x), slices.Compare), slices.Equal)
	exact := p.Effects && !p.Noisy && len(inputs) == len(x)
	level := stat.Mean(responses[0].y, nil)
	for n := 0; n < averageDraws || n < drawRounds*averageDraws && normalise(draws) < enoughDraws; n += averageDraws {
		drawn, round := make([]Hyper, averageDraws), make([][]weighted, averageDraws)
		for k := range drawn {
			if drawn[k] = p.draw(d, rng); exact {
				drawn[k].LogNugget = math.Inf(-1)
			}
		}
		parallel.Do(averageDraws, 1, func(k int) {
			// skip draws whose matrix cannot be factorised
			if g, err := condition(x, responses[0].y, extra, level, drawn[k]); err == nil {
				round[k] = g.weighted(responses)
			}
		})
		if draws = append(draws, slices.Concat(round...)...); len(draws) == 0 {
			return nil, errors.New("gaussian process: no draw of the hyperparameters gives a usable kernel matrix")
		}
	}
	normalise(draws)
	slices.SortStableFunc(draws, func(a, b weighted) int { return cmp.Compare(b.logged, a.logged) })
	return &Posterior{members: likeliest(draws, keep), fair: resampled(draws, keep), record: newRecord(draws, excess), width: 1}, nil
}

// weighted returns the process, conditioned on the first responses, for each set.
func (g *GP) weighted(responses []response) (out []weighted) {
	for k, r := range responses {
		member, given := g, []foretold(nil)
		if k > 0 {
			member, given = g.responding(r.y, stat.Mean(r.y, nil), r.surprise), out[0].trials[:r.from]
		}
		w := member.marginalised(given)
		w.form = k
		out = append(out, w)
	}
	return out
}

// normalise sets the shares of draws, and returns their effective number,
// 1/Σ share² (Kong 1992).
func normalise(draws []weighted) float64 {
	squares, total := 0.0, floats.LogSumExp(list.Map(draws, func(d weighted) float64 { return d.logged }))
	for k := range draws {
		draws[k].share = math.Exp(draws[k].logged - total)
		squares += draws[k].share * draws[k].share
	}
	return 1 / squares
}

// weighted is a draw: a process with its weight.
type weighted struct {
	gp     *GP
	logged float64 // ln weight, up to a constant
	share  float64 // of the weight of all that are kept
	form   int     // index of the prior mean
	trials []foretold
}

// foretold is the prediction of a trial by those before it: a t distribution, σ²
// integrated out.
type foretold struct {
	density      float64 // ln of it at the response, up to a constant
	shape, scale float64 // of σ² before the trial
	off, sd      float64 // response off the prediction and standard deviation, in units of σ
}

// marginalised sets σ² near its posterior mode, and returns the process with its
// log marginal likelihood with σ² integrated out. Repetitions tell the noise,
// not σ²: that a configuration takes as long as before says nothing on the
// others. A mean that is fitted to the trials is no evidence for those it needs
// first: given are the predictions of these.
func (g *GP) marginalised(given []foretold) weighted {
	w, shape, scale := weighted{gp: g}, sigmaShape, sigmaScale
	for i, v := range g.told {
		var t foretold
		if i < len(given) {
			t = given[i]
		} else {
			log, more := g.factor.LogDiagonal(i), scale+0.5*v*v
			t = foretold{shape: shape, scale: scale, sd: math.Exp(log), off: v * math.Exp(log)}
			up, _ := math.Lgamma(shape + 0.5)
			down, _ := math.Lgamma(shape)
			t.density = up - down + shape*math.Log(scale) - (shape+0.5)*math.Log(more) - log
			if !g.again[i] {
				shape, scale = shape+0.5, more
			}
		}
		w.logged += t.density
		w.trials = append(w.trials, t)
	}
	g.sigma2, g.freedom = scale/shape, 2*shape
	return w
}

// likeliest returns the draws of the largest shares, in descending order.
func likeliest(draws []weighted, keep int) []weighted {
	few := slices.Clone(draws[:min(keep, len(draws))])
	if n := slices.IndexFunc(few, func(w weighted) bool { return w.share < averageCutoff*draws[0].share }); n >= 0 {
		few = few[:n]
	}
	normalise(few)
	return few
}

// resampled resamples draws systematically (Kitagawa 1996, appendix). Draws too
// light for the members together determine the probability of a surprise.
func resampled(draws []weighted, size int) (fair []weighted) {
	passed, taken := 0.0, 0
	for _, w := range draws {
		passed += float64(size) * w.share
		if n := min(int(passed+0.5), size); n > taken {
			w.share = float64(n-taken) / float64(size)
			fair, taken = append(fair, w), n
		}
	}
	return fair
}

// Predict returns the posterior of the noise-free response at x.
func (p *Posterior) Predict(x []float64) Predictive {
	n, first := len(p.members), p.members[0].gp
	out := Predictive{Mean: make([]float64, n), SD: make([]float64, n), Weight: make([]float64, n), Freedom: first.freedom}
	scratch := make([]float64, len(x)+maxJumps+len(first.y))
	for i, m := range p.members {
		mean, v, _ := m.gp.predict(x, scratch)
		out.Mean[i], out.SD[i], out.Weight[i] = mean, p.width*math.Sqrt(v), m.share
	}
	return out
}

// NoiseSD returns the standard deviation of one observation about the response.
func (p *Posterior) NoiseSD() float64 {
	return math.Sqrt(list.Sum(p.members, func(m weighted) float64 { return m.share * m.gp.NoiseVariance() }))
}

// record holds the standard normal scores of every trial after the first recordFrom,
// predicted from those before it: about one if standard deviations are correct.
type record []float64

// negligible is the weight, relative to the largest, that cannot change a score.
const negligible = 1e-9

// recordFrom first trials are left out, as hardly predicted.
const recordFrom = 2

// width returns the factor on standard deviations that makes the scores standard normal.
func (r record) width(trust float64) float64 {
	return math.Sqrt((trust + floats.Dot(r, r)) / (trust + float64(len(r))))
}

// newRecord computes the scores, without those of repetitions. excess, if not nil, is by
// how much each response exceeds the lower bound that is all that is known of it, 0 for a
// measured one. A bound above which the prediction lies is no score, as it confirms too
// little. The weights of the draws are those at that trial.
func newRecord(draws []weighted, excess []float64) (r record) {
	logged := make([]float64, len(draws))
	for i, again := range draws[0].gp.again {
		var below, sum, bound float64
		if excess != nil {
			bound = excess[i]
		}
		top := floats.Max(logged)
		for k, d := range draws {
			t, w := d.trials[i], math.Exp(logged[k]-top)
			if sum += w; i >= recordFrom && w > negligible {
				below += w * distuv.StudentsT{Sigma: t.sd * math.Sqrt(t.scale/t.shape), Nu: 2 * t.shape}.CDF(t.off-bound)
			}
			logged[k] += t.density
		}
		if i < recordFrom || again {
			continue
		}
		if z := distuv.UnitNormal.Quantile(min(below/sum, 1)); z > 0 || bound == 0 {
			r = append(r, min(max(z, -8), 8))
		}
	}
	return r
}
