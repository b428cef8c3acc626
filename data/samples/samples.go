// Package samples holds the small measured data sets in knee, for documentation and tests.
// README.md says how each file was measured.
package samples

import (
	"embed"
	"io/fs"
)

//go:embed README.md *.csv *.yaml
var files embed.FS

// Files returns the samples without folders: measurements (NAME.csv), training curves
// (NAME.curve.csv), their studies (NAME.yaml), a cluster, a workload, and README.md.
func Files() fs.FS { return files }
