// Package operate is the loop from a live queue to a plan that is applied:
//
//	read the queue ─▶ jobs.yaml, cluster.yaml ─▶ plan ─▶ changes ─ guard rails ─▶ apply ─▶ again
//
// Every turn leaves its inputs, plan and outcome in a folder of its own, and
// every command and its answer in an audit log. The state of the loop is on the
// jobs themselves (package queue), and the times of their last changes are in
// one small file, written before a change is begun: killed at any moment and
// started again, the loop repeats nothing.
package operate
