// Package bayesopt decides which configuration to measure next.
//
// A measurement costs money, costs differ by orders of magnitude between
// configurations, some run out of memory, and eight to forty measurements are
// all a study gets. The search space is a finite table of candidates. The
// guided strategy ([Guided]) learns one thing only, the logarithm of the step
// time, with a Gaussian process; whatever is known exactly (samples per step,
// statistical efficiency, price) is added to the prediction and never learned.
// It measures the cheapest candidate first, spreads a few more over the cheap
// third, and then follows the logarithm of the expected improvement until no
// candidate is likely to be noticeably better.
//
// The pieces can be used alone:
//
//   - [AverageGP] and [FitGP]: Gaussian process regression with an ARD Matérn-5/2
//     kernel (Rasmussen and Williams, Gaussian Processes for Machine Learning,
//     2006, chapters 2, 4 and 5);
//   - [LogEI]: the acquisition function.
//
// Package knee/bayesopt/sampler has the same optimiser for goptuna programs, and
// any goptuna sampler as a [Strategy]; knee/bayesopt/baseline the methods it is
// compared with.
//
// Every strategy is a pure function of its options and the [History] it is
// given: the same seed and history give the same suggestion, after a restart
// too. Random draws come from sources derived from (seed, number of trials).
package bayesopt
