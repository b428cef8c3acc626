package profile

import (
	"time"

	"knee/bayesopt"
	"knee/data"
	"knee/profile/launch"
	"knee/profile/store"
)

// EventKind says what happened.
type EventKind int

// What a Runner tells while it works.
const (
	StudyOpened EventKind = iota // Snapshot: what there was
	Warned                       // Warning
	TrialStarted
	TrialStepped // at most a few times a second: Steps
	TrialRetried // it failed, or its nodes were taken away, and it will be launched again
	TrialEnded
	TrialAdopted // a trial whose profiler is gone is gone on with
	TrialTaken   // another profiler has taken the trial over; it is measured there
	TrialQueued  // an engine has taken it: Trial.Handle
	TrialBegan   // it has got its nodes: Queued
	TrialQuiet   // no step of it has been seen yet: Quiet
	StorageLost  // the shared storage does not answer: Err
	StorageBack
)

// Event is something that happened while a study ran. Which fields are set
// depends on the kind; Progress always is.
type Event struct {
	Kind        EventKind
	Trial       launch.Trial
	Suggestion  bayesopt.Suggestion // TrialStarted, TrialAdopted: why this trial
	Steps       int                 // TrialStepped: seen so far
	Measurement data.Measurement    // TrialRetried, TrialEnded
	Queued      time.Duration       // TrialBegan, TrialEnded: how long it waited for nodes
	Quiet       time.Duration       // TrialQuiet: for how long
	Unread      string              // TrialQuiet: what it printed instead
	Err         error               // StorageLost
	Warning     string              // Warned
	Snapshot    *store.Snapshot     // StudyOpened
	Progress    Progress
}

// Progress is how far a study is, that of all its profilers together.
type Progress struct {
	Done    int     // trials ended, those of earlier runs included
	Running int     // trials in flight
	Total   int     // the most there can be, from the budget and the space
	Spent   float64 // US$, those of earlier runs included
}
