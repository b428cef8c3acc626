// Package samples holds the small measured data sets in knee, for
// documentation, tests and first steps. README.md says how each file was
// measured.
package samples

import (
	"embed"
	"io/fs"
)

//go:embed README.md *.csv *.yaml
var files embed.FS

// Files returns the samples as a read-only file system without folders:
// measurements (NAME.csv), training curves (NAME.curve.csv), their studies
// (NAME.yaml), a cluster and a workload to replay on it, and README.md.
func Files() fs.FS { return files }
