// Package policy has scheduling policies, each an [allocate.Policy] in its own file.
// The doc comment of a policy names its publication and the simplifications. A value
// is for one plan or one replay, as some keep records or leases between decisions.
//
// [New] returns a policy by name, and [Solve] makes a plan with it. Package
// allocate/simulate runs policies on a workload.
package policy
