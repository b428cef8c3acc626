// Package simulate replays a workload on a cluster under a scheduling
// policy, event by event.
//
// A policy sees option tables, made from models; jobs advance at their true
// speed, given by a [Truth]. Keeping the two apart is the point: a policy is
// judged by what its models make it do. Time jumps from event to event
// (arrival, completion, end of a restart, and, if an interval is set, its
// multiples), so a simulated month costs what its decisions cost.
package simulate
