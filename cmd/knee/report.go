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
	cmd := command("report FILE...", func(cmd *cobra.Command, args []string) error {
		p := page{files: args, out: out, price: price, refresh: int(watch.Seconds())}
		if cmd.Flags().Changed("watch") && watch < time.Second {
			return usageError("--watch %s: want at least 1s", watch)
		}
		if watch > 0 {
			return a.watchReport(cmd.Context(), p, watch)
		}
		return a.writeReport(cmd.Context(), p)
	})
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
