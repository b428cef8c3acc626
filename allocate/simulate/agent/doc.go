// Package agent is what runs beside a training job and learns its speed: it
// sees the step times of the configurations the job has run in and the
// gradient noise at the batch it trains with, keeps a model of both, and says
// what goodput any other allocation should bring and with which batch.
//
// It knows nothing else. In particular it never sees the tables that decide,
// in a replay, how long a step really takes. The design is that of PolluxAgent
// (Qiao et al., OSDI 2021, sections 4.1 and 5.1).
package agent
