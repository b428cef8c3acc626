// Package draft writes the first study of a training command: it reads the
// command and its script, replaces the batch and the numbers of processes and
// nodes by templates, chooses a search space that fits the machine, and writes
// its assumptions and open decisions as comments.
//
// A draft is for a person to read and change; where possible it runs unchanged.
package draft
