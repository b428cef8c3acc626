// Package meter turns the observations of a running trial into its step time, with a standard
// error that allows for autocorrelation and for stopping early, and into a training curve.
//
//	observations ─▶ clock of a rank ─▶ series of step times ─▶ warm-up ─▶ step time ± standard error ─▶ enough?
//
// Memory does not grow with the number of steps.
package meter
