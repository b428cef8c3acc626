// Package check finds stragglers and silent workers of a running job, and
// compares its speed with its model.
//
// The rules are those of Optimus (Peng et al., EuroSys 2018, section 5.2). A
// worker is a straggler if it trains at less than half the median speed of the
// workers. In asynchronous training its step times show this. In synchronous
// training workers wait for each other and all step times are alike; the arrival
// times of gradients show it.
package check
