// Package profile measures a study: it turns a search space into candidate configurations, tries
// those chosen by a strategy, ends each trial when its speed is known precisely enough, and keeps
// a journal from which an interrupted study continues.
//
//	study.yaml ─▶ Candidates ─▶ Strategy ─▶ Launcher ─▶ Meter ─▶ Journal ─▶ measurements.csv
//	                               ▲                                │
//	                               └────────────────────────────────┘
//
// [Runner] is the loop; the other parts can be used without it.
package profile
