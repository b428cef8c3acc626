// Package objective values predicted speeds in a plan: one file for each
// objective.
package objective
