// Package draft writes the first study of a training command: it replaces the batch and the
// numbers of processes and nodes by templates, chooses a search space that fits the machine,
// and writes its assumptions as comments, for a person to read and change.
package draft
