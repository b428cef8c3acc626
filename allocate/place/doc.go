// Package place places the chosen options of jobs on nodes.
package place
