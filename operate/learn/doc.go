// Package learn updates the models of running jobs from their logs, and finds
// slow and silent ones:
//
//	log of a job ─▶ measured where it runs ─┬─ outside the interval ─▶ refit
//	                                        ├─ no model yet         ─▶ borrow
//	                                        └─ slow or silent       ─▶ proposal
//
// A job that differs from its model gets its own model. A proposal is for an
// operator; knee does not act on it.
package learn
