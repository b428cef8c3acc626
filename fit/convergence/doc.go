// Package convergence fits training curves, the loss or a metric of a run
// over its steps, and says when a run reaches a target.
package convergence
