// Package measured answers what training jobs really do, from tables of what
// they were measured to do: the step time on any placement and batch, and at
// every epoch the progress, the gradient noise and the steps it takes.
//
// It is the truth of a replay, which no policy sees. Between measured points
// it interpolates as the simulator published with Pollux (Qiao et al., OSDI
// 2021) does, so that replays compare; see [Table.Times].
package measured
