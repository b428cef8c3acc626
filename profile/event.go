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

// Kinds of events, with the fields of Event that each sets.
const (
	StudyOpened EventKind = iota // Snapshot: what the storage held
	Warned                       // Warning
	TrialStarted
	TrialStepped // at most a few times a second: Steps
	TrialRetried // failed or preempted; it is launched again: Measurement
	TrialEnded
	TrialAdopted // its profiler died and this one continues it: Suggestion
	TrialTaken   // another profiler took it over and measures it
	TrialQueued  // the engine accepted it: Trial.Handle
	TrialBegan   // it got its nodes: Queued
	TrialQuiet   // no step was read yet: Quiet, Unread
	StorageLost  // the shared storage does not answer: Err
	StorageBack
)

// Event is something that happened while a study ran. Which fields are set
// depends on the kind; Progress always is.
type Event struct {
	Kind        EventKind
	Trial       launch.Trial
	Suggestion  bayesopt.Suggestion // TrialStarted, TrialAdopted: why this trial
	Steps       int                 // TrialStepped: read so far
	Measurement data.Measurement    // TrialRetried, TrialEnded
	Queued      time.Duration       // TrialBegan, TrialEnded: how long it waited for nodes
	Quiet       time.Duration       // TrialQuiet: for how long
	Unread      string              // TrialQuiet: its output instead of steps
	Err         error               // StorageLost
	Warning     string              // Warned
	Snapshot    *store.Snapshot     // StudyOpened
	Progress    Progress
}

// Progress is the state of a study, summed over its profilers.
type Progress struct {
	Done    int     // trials ended, those of earlier runs included
	Running int     // trials running
	Total   int     // upper limit, from the budget and the space
	Spent   float64 // US$, those of earlier runs included
}
