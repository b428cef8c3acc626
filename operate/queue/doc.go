// Package queue is what a scheduler knows of its jobs, in the words of Slurm
// and Kubernetes alike, and the two things knee asks of a scheduler to carry
// out a plan: to hold a job, and to start a held or waiting one on given nodes.
//
//	scheduler ─▶ Snapshot ─ rules ─▶ jobs.yaml
//
// Neither submits nor deletes: a job keeps its id, its name, and the script or
// pod template of its owner, so that nothing can be there twice or be lost.
// That a job waits because knee holds it, and the size its owner requested, is
// written on the job itself; knee keeps no list that could differ from the
// queue.
package queue
