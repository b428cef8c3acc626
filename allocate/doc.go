// Package allocate has the types for sharing a cluster among training jobs.
//
// The problem is a multiple-choice knapsack. Every job has a table of options
// (GPU type, workers, parameter servers, shape of the placement, batch). Every
// option has a value, given by the objective, and a demand for resources. One
// option of each job, or none, is chosen within the capacity of the cluster. The
// packages below can be used alone:
//
//   - objective: the value of predicted speed;
//   - solve: the choice of highest value, its upper bound, and prices;
//   - policy: other ways to choose, each from a paper;
//   - place: the placement of a choice on nodes;
//   - plan: from files and models to a [data.Plan] with reasons;
//   - simulate: policies run on a workload;
//   - export: a plan as files of a scheduler.
//
// Everything is deterministic: the same input gives the same answer.
package allocate
