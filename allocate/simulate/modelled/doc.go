// Package modelled makes jobs of fitted models for the native simulator. Jobs
// advance as one world that the posterior of their model holds possible, or as
// was measured where that is known; a policy sees what the model predicts, and
// of configurations that the job has run, what it did.
package modelled
