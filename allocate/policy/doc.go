// Package policy holds scheduling policies, one file each, all behind
// [allocate.Policy]: from what is known now to who gets what. Those that keep
// accounts or leases between decisions say so; a value of them serves one plan
// or one replay.
//
// [New] finds a policy by name, and [Solve] makes a plan with it. A policy
// is scored by replaying a workload with allocate/simulate. The doc comment
// of each says which publication it follows, and where it only approximates
// it.
package policy
