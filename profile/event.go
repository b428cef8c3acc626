package profile

import (
	"knee/bayesopt"
	"knee/data"
	"knee/profile/launch"
)

// EventKind says what happened.
type EventKind int

// What a Runner tells while it works.
const (
	TrialStarted EventKind = iota
	TrialStepped
	TrialRetried // it failed and will be launched again
	TrialEnded
)

// Event is something that happened while a study ran. Which fields are set
// depends on the kind; Progress always is.
type Event struct {
	Kind        EventKind
	Trial       launch.Trial
	Suggestion  bayesopt.Suggestion // TrialStarted: why this trial
	Observation launch.Observation  // TrialStepped
	Measurement data.Measurement    // TrialRetried, TrialEnded
	Progress    Progress
}

// Progress is how far a study is.
type Progress struct {
	Done    int     // trials ended, those of earlier runs included
	Running int     // trials in flight
	Total   int     // the most there can be, from the budget and the space
	Spent   float64 // US$, those of earlier runs included
}
