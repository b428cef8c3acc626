package main

import (
	"cmp"
	"fmt"
	"os"
	"runtime"
	"runtime/debug"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/cobra/doc"
)

func newMan() *cobra.Command {
	cmd := command("man DIR", func(cmd *cobra.Command, args []string) error {
		date := time.Date(2026, time.January, 1, 0, 0, 0, 0, time.UTC) // the same bytes on any day
		if err := os.MkdirAll(args[0], 0o755); err != nil {
			return fmt.Errorf("make the folder: %w", err)
		}
		cmd.Root().DisableAutoGenTag = true // it holds the date
		return doc.GenManTree(cmd.Root(), &doc.GenManHeader{Section: "1", Date: &date, Source: "knee", Manual: "knee"}, args[0])
	})
	cmd.Hidden = true // for who releases knee
	return cmd
}

type build struct {
	Version  string `json:"version"`            // of the module: a tag, or derived from the revision
	Revision string `json:"revision,omitempty"` // of git
	Time     string `json:"time,omitempty"`     // of the revision, RFC 3339
	Modified bool   `json:"modified"`           // the files were not those of the revision
	Go       string `json:"go"`
	Platform string `json:"platform"` // such as linux/amd64
	Module   string `json:"module"`
}

func newVersion(a *app) *cobra.Command {
	return answering("version", func(_ *cobra.Command, _ []string, out format) error {
		b := thisBuild()
		if out == "table" {
			_, err := fmt.Fprintf(a.stdout, "knee %s %s %s\n", version(), b.Go, b.Platform)
			return err
		}
		return out.print(a.stdout, b, tableOf([]build{b}, "version,revision,time,modified,go,platform,module"))
	})
}

func thisBuild() build {
	b := build{Version: "(devel)", Go: runtime.Version(), Platform: runtime.GOOS + "/" + runtime.GOARCH}
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return b
	}
	b.Module, b.Version = info.Main.Path, cmp.Or(info.Main.Version, b.Version)
	of := map[string]string{}
	for _, s := range info.Settings {
		of[s.Key] = s.Value
	}
	b.Revision, b.Time, b.Modified = of["vcs.revision"], of["vcs.time"], of["vcs.modified"] == "true"
	return b
}

func version() string {
	b := thisBuild()
	return strings.TrimSpace(b.Version + " " + b.Revision)
}
