// Package measured gives the true behaviour of jobs in a replay, from tables of
// measurements: the step time on any placement and batch, and at every epoch the
// progress, the gradient noise and the steps it takes. No policy sees it.
// Between measured points
// it interpolates as the simulator published with Pollux (Qiao et al., OSDI
// 2021) does, so that replays compare; see [Table.Times].
package measured
