// Package apply applies a plan to a live queue, by the ids of its jobs.
//
//	plan ─▶ Diff against the queue ─▶ free ─▶ hold ─▶ free ─▶ start ─▶ verify, else roll back
//
// The change of a job that somebody else has changed since the plan was made is
// stale and is not made; a job that has its new allocation is left as it is. So a
// plan can be applied again, also after an interruption: a job that knee holds
// waits in the queue with a mark, and the next run starts it.
package apply
