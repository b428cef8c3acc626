// Package solve chooses one option of each job, or none, to maximise the sum of
// their values, and gives an upper bound of that sum.
//
// [MarginalGain] follows Optimus (Peng et al., EuroSys 2018, section 4.1):
// give the next unit to the job that gains most per share of its dominant
// resource. It differs in four ways:
//
//   - steps are edges of the upper concave envelope of a job's options, so that jumps
//     that pay only as a whole (1 to 4 GPUs, one node to two) are taken;
//   - a GPU type that runs out ends only the steps that need it;
//   - a dynamic program, the prices of the Lagrangian dual and a bounded branch and
//     bound improve the greedy choice;
//   - the dual bounds the optimum.
package solve
