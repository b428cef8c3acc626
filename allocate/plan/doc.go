// Package plan makes plans: it asks models what every allocation would yield, lets a
// policy choose, places the choice and says why.
package plan
