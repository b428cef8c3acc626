// Package compare replays workloads under several policies, in parallel, and
// sets the results side by side.
package compare
