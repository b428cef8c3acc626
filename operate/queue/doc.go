// Package queue describes the jobs of a scheduler, Slurm or Kubernetes, and the
// two commands that apply a plan: hold a job, and start a held or waiting job on
// given nodes.
//
//	scheduler ─▶ Snapshot ─ rules ─▶ jobs.yaml
//
// Neither submits nor deletes: a job keeps its id, its name, and the script or pod
// template of its owner, so that no job is doubled or lost. That knee holds a job
// and the size its owner requested are recorded on the job; knee keeps no list
// that could differ from the queue.
package queue
