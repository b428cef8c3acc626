// Package launch runs one trial of a configuration and streams its
// observations.
//
// Trials run as processes of this machine (local.go), as Slurm jobs (slurm.go)
// or on Kubernetes (kubernetes.go), or are answered from a table of earlier
// measurements (replay.go). A [Launcher] only runs and reports; package profile
// decides what is steady, what has hung and what to run next.
//
// A [Parser] reads the output of a trial: the lines that training scripts print
// for knee, or the logs of known programs and any other.
package launch
