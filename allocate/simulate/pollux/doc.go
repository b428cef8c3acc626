// Package pollux replays a workload by the rules of the simulator that was
// published with Pollux (Qiao et al., OSDI 2021): rounds of a minute, jobs
// that advance at measured speeds through recorded training runs, 30 s
// without progress after every change of allocation. The rounds are those of
// [simulate.Run]; how a job gets on in one is its [simulate.Course].
//
// Two of its schedulers are here as published, to the second: tiresias and
// optimus. Any policy of this project can be replayed by the same rules: it is
// shown option tables made from what the agent of each job has observed, see
// [knee/allocate/simulate/agent].
package pollux
