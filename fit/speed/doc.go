// Package speed turns measurements of one training job into predictions of
// its step time in any configuration, with honest intervals.
//
// The model is hierarchical:
//
//	ln T = f(θ, x) + slopes·knobs + GP(x) + noise
//
// f is a physical form of few parameters ([knee/fit/speed/form]), times powers
// of the study's own knobs. The Gaussian process takes up the rest; powers of
// workers and batches are among it, so that linear scaling and power laws are
// limits of the model. The distributions of θ and of the slopes over jobs, the
// scales of process and noise, and how far those differ between jobs are the prior
// ([knee/fit/prior]). GPU types of one job share what belongs to the job.
//
// A fit finds the mode of the posterior by least squares, infers how large
// process and noise are in this job from their marginal likelihood, and draws
// from the Laplace approximation of the posterior, corrected by importance.
// A prediction is the value that minimises the expected relative error, which
// counts up to one, with the 5 % and 95 % quantiles of the predictive distribution
// of a new run, wider by what datasets left out of the learning ask for.
//
// The published families are fitted by the same machinery under weak priors
// and without a process, for comparison.
//
// Times are seconds, batches are samples, and everything is deterministic
// given the seed.
package speed
