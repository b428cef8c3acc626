package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"github.com/dustin/go-humanize/english"
	"github.com/spf13/cobra"

	"knee/data"
	"knee/internal/grouped"
	"knee/plots/report"
)

func newReport(a *app) *cobra.Command {
	var out string
	var watch time.Duration
	var price priceFlag
	cmd := &cobra.Command{
		Use:   "report FILE...",
		Short: "Write one HTML page of a study: answers, figures, tables",
		Long: `report answers for every job how many workers, which batch or layout, what it
costs and how sure that is, and shows plans and results of simulations. Give
files or folders: of a folder all known files are taken, of the turns of knee
operate the last. The page needs no network.

Measurements without a model are fitted. Prices are those of --price, else of
the study. With --watch the page is rewritten when a file changes and reloads
itself, until Ctrl-C: to follow a running profile.`,
		Example: `  knee report study.measurements.csv model.json -f report.html
  knee report knee-quickstart -f report.html
  knee report study.measurements.csv --watch 5s -f live.html
  knee report turns --watch 1m -f queue.html`,
		RunE: func(cmd *cobra.Command, args []string) error {
			p := page{files: args, out: out, price: price, refresh: int(watch.Seconds())}
			if cmd.Flags().Changed("watch") && watch < time.Second {
				return usageError("--watch %s: want at least 1s", watch)
			}
			if watch > 0 {
				return a.watchReport(cmd.Context(), p, watch)
			}
			return a.writeReport(cmd.Context(), p)
		},
	}
	cmd.Flags().StringVarP(&out, "file", "f", "report.html", "page to write; - for standard output")
	cmd.Flags().DurationVar(&watch, "watch", 0, "rewrite the page when files change, checked this often")
	priced(cmd, &price)
	_ = cmd.MarkFlagFilename("file", "html")
	return cmd
}

type page struct {
	files   []string // and folders
	out     string
	price   priceFlag
	refresh int // seconds
}

func (a *app) writeReport(ctx context.Context, p page) error {
	in := report.Inputs{PricePerHour: p.price}
	for _, path := range p.files {
		if err := in.Read(path); err != nil {
			return err
		}
	}
	types, _ := grouped.By(in.Measurements, func(m data.Measurement) string { return m.GPUType })
	for _, m := range in.Models {
		types = append(types, m.GPUTypes()...)
	}
	a.warn(p.price.unknown("the report", types)...)
	r, err := in.Report(ctx)
	if err != nil {
		return err
	}
	r.Version, r.Refresh = version(), p.refresh
	r.Command = "knee report " + strings.Join(p.files, " ")
	if p.out == "-" {
		return report.Write(a.stdout, r)
	}
	if err := data.WriteFile(p.out, func(w io.Writer) error { return report.Write(w, r) }); err != nil {
		return err
	}
	a.note("wrote %s: %s from %s", p.out, english.Plural(len(r.Sections), "section", ""), english.Plural(len(r.Inputs), "file", ""))
	return nil
}

// watchReport writes the page whenever a file changes, until ctx ends; errors are warnings.
func (a *app) watchReport(ctx context.Context, p page, every time.Duration) error {
	last := "nothing yet" // so that the first error is printed
	for {
		if now := stamp(p.files); now != last {
			if err := a.writeReport(ctx, p); err != nil {
				a.warn(err.Error())
			}
			last = now
		}
		select {
		case <-ctx.Done():
			p.refresh = 0 // the last page does not reload
			return a.writeReport(context.WithoutCancel(ctx), p)
		case <-time.After(every):
		}
	}
}

// stamp changes when one of the files does.
func stamp(paths []string) string {
	var b strings.Builder
	for _, path := range paths {
		for _, f := range report.Files(path) {
			if info, err := os.Stat(f); err == nil {
				fmt.Fprintln(&b, f, info.Size(), info.ModTime().UnixNano())
			}
		}
	}
	return b.String()
}
