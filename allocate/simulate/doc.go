// Package simulate replays a workload on a cluster under a scheduling policy, event by event:
// arrival, completion, end of a restart, multiples of the interval if there is one.
//
// A policy gets option tables made from models; jobs advance at their true speed, given by a
// [Truth]. So the results include the effect of model errors.
package simulate
