// Package predict turns the model of a job into answers: step time,
// throughput, goodput, time and cost to a goal, each with a 90 % interval,
// and the best configuration under a deadline or a budget.
//
// Throughput is samples per second; goodput is throughput times statistical
// efficiency, samples per second that each are worth as much as one at the
// initial batch (Pollux, OSDI'21, section 3). A goal is counted in such
// samples, so time to the goal is samples divided by goodput.
//
// Intervals of quantities that come from independent sources (speed, noise
// scale, convergence) are combined on the logarithm, where products and
// quotients are sums: the half-widths add in quadrature, each side apart.
package predict
