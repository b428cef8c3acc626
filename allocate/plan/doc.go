// Package plan makes plans: models predict every option, a policy chooses, the
// choice is placed on nodes, and every job gets a reason.
package plan
