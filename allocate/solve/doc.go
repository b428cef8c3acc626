// Package solve chooses one option per job, or none, so that the sum of their
// values is as large as can be, and bounds it.
//
// [MarginalGain] follows Optimus (Peng et al., EuroSys 2018, section 4.1):
// give the next unit to the job that gains most per share of its dominant
// resource. It differs in four ways. Steps are edges of the upper concave
// envelope of a job's options, so that a jump worth taking whole (1 to 4
// GPUs, one node to two) is seen; a GPU type that runs out ends only the
// steps that need it; a dynamic program, the prices of the Lagrangian dual and a
// bounded branch and bound find what greedy steps miss; and the dual says
// how far from the best possible value the choice can be at most.
package solve
