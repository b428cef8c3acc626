// Package draft writes the first study of a training command: it looks at the
// command and the script it runs, replaces what is a configuration by a
// template (the batch, the number of processes, of nodes), chooses a search
// space that fits the machine, and says in comments what it assumed and what
// is left to decide.
//
// A draft is for a person to read and change; where possible it runs unchanged.
package draft
