// Package compare replays workloads under several policies, in parallel, and
// tabulates the results.
package compare
