// Package convergence fits training curves, the loss or a metric of a run
// over its steps, and says when the run reaches a target.
//
// The answer is one posterior over many curves (posterior.go) and over when
// they get there (arrival.go). What it believes beforehand is learned from
// finished runs (prior.go). Published curves, one fit each, are kept for
// comparison (published.go).
package convergence
