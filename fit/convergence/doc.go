// Package convergence fits training curves, the loss or a metric of a run
// over its steps, and says when the run reaches a target.
//
// The answer is one posterior over curves (posterior.go) and over the steps at
// which they meet the target (arrival.go). Its priors are learned from finished
// runs (prior.go). Optimus's curve, a single fit, is there for comparison
// (optimus.go).
package convergence
