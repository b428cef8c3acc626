// Package elastic makes jobs of measured applications for the native
// simulator: they advance as the tables say, and a policy is shown what an
// agent beside each has learnt from running it.
package elastic
