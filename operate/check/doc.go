// Package check looks at how a running job does: which of its workers are
// stragglers, which have gone silent, and whether it runs as fast as its
// model says.
//
// The rules are those of Optimus (Peng et al., EuroSys 2018, section 5.2). A
// worker is a straggler if it trains at less than half the median speed of
// the workers. Under asynchronous training that shows in its step times;
// where workers wait for each other all step times are alike, and it shows
// in when its gradients arrive.
package check
