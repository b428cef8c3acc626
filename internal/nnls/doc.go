// Package nnls solves linear least squares with non-negative coefficients.
//
// Speed models whose terms are times (compute, transfer, update, overhead)
// are linear with coefficients that cannot be negative; ordinary least
// squares happily returns a negative time per worker on noisy data, which
// extrapolates to nonsense. The method is the active-set algorithm of
// Lawson and Hanson, "Solving Least Squares Problems" (1974), chapter 23.
package nnls
