// Package convergence fits training curves, the loss or a metric of a run
// over its steps, and says when the run reaches a target.
//
// The answer is one posterior over curves (posterior.go) and over when they get
// there (arrival.go). What it believes beforehand is learned from finished runs
// (prior.go). Optimus's curve, a single fit, is there for comparison (optimus.go).
package convergence
