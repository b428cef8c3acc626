// Package apply applies a plan to a live queue, by the ids of its jobs.
//
//	plan ─▶ Diff against the queue ─▶ free ─▶ hold ─▶ free ─▶ start ─▶ verify, else roll back
//
// A job that somebody else has changed since the plan was made is stale and left
// alone; one that already has its new allocation is done. So a plan can be
// applied twice, and again after an interruption: a job that was held for it
// waits in the queue, marked, and the next run starts it.
package apply
