// Package allocate shares a cluster among training jobs.
//
// The problem is a multiple-choice knapsack. Every job has a table of options
// (GPU type, workers, parameter servers, the nodes they would stand on and the
// batch that suits them), every option has a value that the objective gives it
// and a demand for resources, and one option per job, or none, is to be chosen
// within the capacity of the cluster. The pieces can be used alone:
//
//   - [BuildOptions] asks the model of a job what every allocation would yield;
//   - an [Objective] turns predicted speed into value;
//   - a [Policy] chooses among option tables; [MarginalGain] is the one of this
//     package, others live in allocate/policy;
//   - a [Placer] puts a choice on nodes;
//   - [Solve] does all of it and explains the result in a [data.Plan].
//
// [MarginalGain] follows Optimus (Peng et al., EuroSys 2018, section 4.1):
// give the next unit to the job that gains most per share of its dominant
// resource. It differs in four ways. Steps are edges of the upper concave
// envelope of a job's options, so that a jump worth taking whole (1 to 4
// GPUs, one node to two) is seen; a GPU type that runs out ends only the
// steps that need it; a local search and a bounded branch and bound repair
// what greedy steps leave; and the Lagrangian dual of the same problem says
// how far from the best possible value the plan can be at most.
//
// Everything is deterministic: the same input gives the same plan.
package allocate
