// Package samples holds the small measured data that ship with knee, for
// documentation, tests and a first try. README.md says how each file was
// measured.
package samples

import (
	"embed"
	"io/fs"
)

//go:embed README.md *.csv *.yaml
var files embed.FS

// Files returns the samples as a read-only file system without folders:
// measurements (NAME.csv), training curves (NAME.curve.csv), the studies
// they came from (NAME.yaml), a cluster and a workload to replay on it, and
// README.md.
func Files() fs.FS { return files }
