// Package pollux replays a workload by the rules of the simulator published with Pollux
// (Qiao et al., OSDI 2021): rounds of a minute, jobs that advance at measured speeds
// through recorded training runs, 30 s without progress after every change of allocation.
// The rounds are those of [simulate.Run]; the progress of a job in a round is its
// [simulate.Course].
//
// Two of its schedulers, tiresias and optimus, give the published results to the second.
// Any policy can be replayed by the same rules; its option tables are the predictions of
// each job's agent.
package pollux
