// Package queue describes the jobs of a scheduler, Slurm and Kubernetes alike,
// and the two commands that apply a plan: hold a job, and start a held or waiting
// one on given nodes.
//
//	scheduler ─▶ Snapshot ─ rules ─▶ jobs.yaml
//
// Neither submits nor deletes: a job keeps its id, its name, and the script or pod
// template of its owner, so that no job is doubled or lost. The job itself records
// that knee holds it and the size its owner requested; knee keeps no list that
// could differ from the queue.
package queue
