// Package predict turns the model of a job into answers: step time, throughput,
// goodput, time and cost to a goal, each with a 90 % interval, and the best
// configuration under a deadline or a budget.
//
// Throughput is samples per second. Goodput is throughput times statistical
// efficiency: samples per second, each worth one at the initial batch (Pollux,
// OSDI'21, section 3). Time to a goal is the goal in such samples divided by
// goodput.
//
// Intervals of independent quantities (speed, noise scale, convergence) are
// combined on the logarithm, where products and quotients are sums: lower and
// upper half-widths each add in quadrature.
package predict
