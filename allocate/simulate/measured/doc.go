// Package measured makes jobs of measured applications for package simulate: the step
// time on any placement and batch, and for every epoch the progress, the gradient noise
// and the number of steps. A policy gets the predictions of each job's agent, which
// learns while the job runs.
//
// Between measured points it interpolates like the simulator published with Pollux (Qiao
// et al., OSDI 2021), so that results are comparable; see [Table.Times].
package measured
