// Package measured is the true behaviour of jobs in a replay, from tables of
// measurements: the step time on any placement and batch, and for every epoch the
// progress, the gradient noise and the number of steps. Policies do not see it.
// Between measured points it interpolates like the simulator published with Pollux
// (Qiao et al., OSDI 2021), so that results are comparable; see [Table.Times].
package measured
