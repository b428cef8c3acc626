// Package plan makes plans: models predict the options of every job, a policy
// chooses, the choice is placed on nodes, and every job gets a reason.
package plan
