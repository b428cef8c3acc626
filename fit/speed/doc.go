// Package speed turns measurements of one training job into predictions of its
// step time in any configuration, with 90 % intervals.
//
// The model is hierarchical:
//
//	ln T = f(θ, x) + slopes·knobs + GP(x) + noise
//
// f is a physical form of few parameters ([knee/fit/speed/form]), multiplied by
// powers of the study's own knobs. The Gaussian process models the residual; it
// includes powers of workers and batches, so that linear scaling and power laws
// are limits of the model. The prior ([knee/fit/prior]) gives the distributions
// over jobs of θ and the slopes, and the scales of process and noise. GPU types
// of one job share the effects of the job.
//
// A fit finds the mode of the posterior by least squares, draws the scales of
// process and noise by their marginal likelihood with the form linearised there,
// and the parameters given each of these draws from the Laplace approximation,
// with importance resampling. A prediction minimises the expected relative
// error, capped at one. Its interval is from the 5 % to the 95 % quantile of a
// new run.
//
// The published families are fitted in the same way, with weak priors and
// without a process, for comparison.
//
// Times are seconds, batches are samples. The same seed gives the same result.
package speed
