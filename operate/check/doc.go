// Package check finds stragglers and silent workers of a running job, and
// compares its speed with its model.
//
// The rules are those of Optimus (Peng et al., EuroSys 2018, section 5.2). A
// worker is a straggler if it trains at less than half the median speed of
// the workers. Under asynchronous training that shows in its step times;
// where workers wait for each other all step times are alike, and it shows
// in when its gradients arrive.
package check
