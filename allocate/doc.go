// Package allocate holds the types with which a cluster is shared among
// training jobs.
//
// The problem is a multiple-choice knapsack. Every job has a table of options
// (GPU type, workers, parameter servers, the nodes they would stand on and the
// batch that suits them), every option has a value that the objective gives it
// and a demand for resources, and one option per job, or none, is to be chosen
// within the capacity of the cluster. The packages below it can be used alone:
//
//   - objective: the value of predicted speed;
//   - solve: the choice of highest value, its bound, and prices;
//   - policy: other ways to choose, each from a paper;
//   - place: the placement of a choice on nodes;
//   - plan: from files and models to a [data.Plan] with its reasons;
//   - simulate: policies replayed over a workload;
//   - export: a plan as files of a scheduler.
//
// Everything is deterministic: the same input gives the same answer.
package allocate
