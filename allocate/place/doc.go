// Package place puts the options that were chosen for jobs on nodes.
package place
