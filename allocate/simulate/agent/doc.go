// Package agent learns the speed of one training job: from its step times in the
// configurations in which it has run, and its gradient noise, it predicts goodput and
// best batch of any allocation, as PolluxAgent does (Qiao et al., OSDI 2021, sections 4.1
// and 5.1).
//
// In a replay it has no access to the tables of true step times.
package agent
