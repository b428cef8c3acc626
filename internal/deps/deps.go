// Package deps pins modules while their users are being written.
package deps

import (
	_ "github.com/c-bata/goptuna"
	_ "github.com/c-bata/goptuna/cmaes"
	_ "github.com/c-bata/goptuna/tpe"
	_ "github.com/expr-lang/expr"
	_ "github.com/gocarina/gocsv"
	_ "github.com/google/go-cmp/cmp"
	_ "github.com/rogpeppe/go-internal/testscript"
	_ "github.com/schollz/progressbar/v3"
	_ "github.com/spf13/cobra"
	_ "go.yaml.in/yaml/v3"
	_ "golang.org/x/term"
	_ "gonum.org/v1/gonum/mat"
	_ "gonum.org/v1/gonum/optimize"
	_ "gonum.org/v1/gonum/stat/distuv"
	_ "gonum.org/v1/plot/vg/vgimg"
	_ "gonum.org/v1/plot/vg/vgpdf"
	_ "gonum.org/v1/plot/vg/vgsvg"
	_ "pgregory.net/rapid"
)
