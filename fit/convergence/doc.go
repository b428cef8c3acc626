// Package convergence fits training curves, the loss or a metric of a run over
// its steps, and predicts when the run reaches a target.
//
// It draws from a posterior of curves (posterior.go) and of the steps at which
// they meet the target (arrival.go). The priors are learned from finished runs
// (prior.go). Optimus's curve, a single fit, is included for comparison
// (optimus.go).
package convergence
