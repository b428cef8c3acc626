// Package policy has scheduling policies, each an [allocate.Policy] in its own file, whose
// comment names the publication; what differs from it stands in docs/policies.md. A value is
// for one plan or one replay, as some keep records between decisions.
//
// [New] returns a policy by name, and [Solve] makes a plan with it. Package
// allocate/simulate runs policies on a workload.
package policy
