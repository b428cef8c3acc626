// Package elastic makes jobs of measured applications for package simulate: they
// advance as measured, and a policy gets the predictions of each job's agent,
// which learns while the job runs.
package elastic
