// Package learn keeps the models of the jobs of a queue true to what the jobs
// do, and says what else their logs tell:
//
//	log of a job ─▶ measured where it runs ─┬─ outside the interval ─▶ refit
//	                                        ├─ no model yet         ─▶ borrow
//	                                        └─ slow or silent       ─▶ proposal
//
// A job that differs from its model gets a model of its own. A proposal is what
// an operator would look at; nothing is changed because of it.
package learn
