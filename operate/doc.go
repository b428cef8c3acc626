// Package operate plans for a live queue and applies the plan, in turns:
//
//	read the queue ─▶ jobs.yaml, cluster.yaml ─▶ plan ─▶ changes ─ guard rails ─▶ apply ─▶ next turn
//
// Each turn has a folder with its inputs, plan and outcome. Every command and
// its answer are in an audit log. That knee holds a job is recorded on the job
// (package queue). The time of its last change is in state.json, written before
// the change begins. So a loop that is killed and started again repeats no change.
package operate
