// Package operate is the loop from a live queue to a plan that is applied:
//
//	read the queue ─▶ jobs.yaml, cluster.yaml ─▶ plan ─▶ changes ─ guard rails ─▶ apply ─▶ again
//
// Every turn leaves its inputs, plan and outcome in a folder of its own, and
// every command and its answer in an audit log. What the loop must not forget
// is on the jobs themselves (package queue) and, for how long a job is left in
// peace, in one small file that is written before a change is begun: killed at
// any moment and started again it repeats nothing.
package operate
