// Package leastsq minimises a sum of squared residuals that depend smoothly,
// but not linearly, on a few parameters.
//
// The method is Levenberg–Marquardt (Marquardt, "An Algorithm for
// Least-Squares Estimation of Nonlinear Parameters", 1963) with Nielsen's
// damping update (1999), steps clipped per parameter, and Jacobians by central
// differences unless given. Parameters are unbounded: callers use logarithms, and
// add priors as residuals, which also makes every problem well posed.
package leastsq
