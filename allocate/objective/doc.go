// Package objective computes the value of an option of a job from its predicted
// speed. Each objective has a file.
package objective
