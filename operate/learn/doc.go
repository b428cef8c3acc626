// Package learn updates the models of running jobs from their logs, and finds
// slow and silent ones:
//
//	log of a job ─▶ measured where it runs ─┬─ outside the interval ─▶ refit
//	                                        ├─ no model yet         ─▶ borrow
//	                                        └─ slow or silent       ─▶ proposal
//
// A job that differs from its model gets a model of its own. A proposal is what
// an operator would look at; nothing is changed because of it.
package learn
