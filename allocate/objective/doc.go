// Package objective says what predicted speed is worth to a plan: one file for
// each objective.
package objective
