// Package tiresias replays a workload by the rules of the simulator that was
// published with Tiresias (Gu et al., NSDI 2019), to the second.
//
// The cluster is a pool of GPUs without nodes; a job is a gang of fixed size
// and a duration in whole seconds; preempting and resuming cost nothing. The
// policies are the eight that the published program runs in this mode, see
// [Policies]. Where that program does something surprising (two units of
// service mixed in one wake-up time, one demotion per event at most) this
// one does the same, since the point is to get its numbers.
package tiresias
