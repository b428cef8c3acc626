// Package bayesopt decides which configuration to measure next.
//
// A measurement costs money, costs differ by orders of magnitude between configurations,
// some run out of memory, and a study has eight to forty of them. The search space is a
// finite table of candidates. The guided strategy ([Guided]) models the logarithm of the
// step time with a Gaussian process; known quantities (samples per step, statistical
// efficiency, price) are added to the prediction. It measures the cheapest candidate first,
// then a few distant ones within the cheapest third, and then maximises the logarithm of
// the expected improvement until no candidate is likely to be noticeably better. Package
// sampler offers it to goptuna; baseline has its rivals.
//
// Every strategy but goptuna's tpe is a pure function of its options and the [History], also
// after a restart: random draws depend on the seed and the number of trials.
package bayesopt
