// Package agent runs beside a training job and learns its speed: from the step
// times of the configurations that the job has run in and the gradient noise at
// its batch it keeps a model of both, and predicts the goodput and the best batch
// of any other allocation.
//
// It never sees the tables that decide, in a replay, how long a step takes. The design is that of PolluxAgent
// (Qiao et al., OSDI 2021, sections 4.1 and 5.1).
package agent
