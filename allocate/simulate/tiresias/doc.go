// Package tiresias replays a workload by the rules of the simulator published with
// Tiresias (Gu et al., NSDI 2019), with the same results to the second.
//
// The cluster is a pool of GPUs without nodes; a job is a gang of fixed size and a
// duration in whole seconds; preempting and resuming cost nothing. Oddities of the
// published program (two units of service mixed in one wake-up time, at most one demotion
// per event) are kept, so that results agree.
package tiresias
