// Package profile measures a study: it turns a search space into candidate
// configurations, runs trials of those a strategy chooses, decides from the
// steps of each trial when its speed is known well enough, and keeps a
// journal from which an interrupted study continues.
//
//	study.yaml ─▶ Candidates ─▶ Strategy ─▶ Launcher ─▶ Meter ─▶ Journal ─▶ measurements.csv
//	                               ▲                                │
//	                               └────────────────────────────────┘
//
// [Runner] is the loop; each of the other parts can be used alone.
package profile
