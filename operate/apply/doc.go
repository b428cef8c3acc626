// Package apply carries a plan out on a live queue, by the ids of its jobs.
//
//	plan ─▶ Diff against the queue ─▶ free ─▶ hold ─▶ free ─▶ start ─▶ verify, else roll back
//
// What a job has is compared with what it had when the plan was made: a job
// that somebody else has changed since is stale and left alone, one that has
// what it should is done. So a plan can be carried out twice, and after being
// interrupted anywhere: a job that was held for it waits in the queue, marked,
// and is started by the next run.
package apply
