// Package modelled makes jobs of fitted models for package simulate. A job advances at
// measured speeds where there are measurements, else at those of one sample of its
// model's posterior. A policy gets the predictions of the model, and its true speed in
// configurations in which the job has run.
package modelled
