// Package launch runs one trial of a configuration somewhere and streams
// what it observes.
//
// There is one file per place a trial can run: local.go starts processes on
// this machine, replay.go answers from a table of earlier measurements. A
// [Launcher] only runs and reports; deciding what is steady, what has hung
// and what to run next is decided by package profile.
//
// What a trial prints is read by a [Parser]: jsonl.go reads the lines that
// training scripts print for knee, regex.go reads any other log.
package launch
