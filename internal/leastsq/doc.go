// Package leastsq minimises a sum of squared residuals that depend smoothly,
// but not linearly, on a few parameters.
//
// The method is Levenberg–Marquardt (Marquardt, "An Algorithm for
// Least-Squares Estimation of Nonlinear Parameters", 1963) with Nielsen's
// damping update (1999), steps clipped per parameter, and Jacobians by
// central differences. Parameters are unbounded: the callers use logarithms,
// and add their priors as further residuals, which also makes every problem
// well posed whatever the data.
package leastsq
