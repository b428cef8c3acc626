// Package fit turns measurements of one training job into a model of its
// speed, its convergence and its statistical efficiency.
//
// A speed [Model] holds one fit per pair of GPU type and mode. A fit is a
// family (a parametric form of the time of one optimizer step, see
// [FamilyNames]), its parameters, and for the families of this project a
// Gaussian process on what the form leaves over. The published families are
// fitted by the same machinery, for comparison; [Model.Families] shows how
// well each would have predicted the measurements at hand.
//
// Every prediction carries a 90 % interval from three sources: what the data
// leave open about the parameters (draws from the Laplace approximation of
// their posterior, corrected by importance), what the Gaussian process leaves
// open about the residual at that point, and the noise of measurements, whose
// size is inferred from how likely they are together, from how well each is
// predicted by the others, and from repeated runs. It says when a
// configuration lies outside the measured range. Measurements that all others
// contradict are left out and named by [Model.Warnings]. What a job never
// measured of the links between nodes it can borrow from other jobs of the
// cluster (Others in [Settings]). One measurement is enough to answer, with
// an interval as wide as the priors make it.
//
// Times are seconds, batches are samples, and everything is deterministic
// given the seed.
package fit
