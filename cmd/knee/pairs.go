package main

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/spf13/cobra"

	"knee/data"
	"knee/fit/interference"
	"knee/internal/grouped"
)

func newPairs(a *app) *cobra.Command {
	return answering("pairs PAIRS.csv", func(_ *cobra.Command, args []string, out format) error {
		rows, warnings, err := interference.Load(args[0])
		if err != nil {
			return err
		}
		if len(rows) == 0 {
			return &data.InputError{Source: data.Source{File: args[0]}, Found: "no pairs", Want: "a row for each job of a measured pair"}
		}
		a.warn(warnings...)
		if c := interference.CrossValidate(rows); c.Rows > 0 {
			a.note("left out, %d measured shares are %.1f %% off on average (the mean of all others: %.1f %%), and %.0f %% of them in intervals of 90 %%",
				c.Rows, 100*c.Error, 100*c.Rival, 100*c.Covered)
		}
		res := predictPairs(rows)
		t := newTable("application,beside,gpu_type,workers,share,share_lo,share_hi,p_fits", "application,beside,gpu_type,share,90 %,fits")
		for _, p := range res {
			t.add(p.Application, p.Beside, p.GPUType, p.Workers, p.Share.Mean, p.Share.Lo, p.Share.Hi, p.Fits)
			t.people.add(p.Application, p.Beside, p.GPUType, fmt.Sprintf("%.2f", p.Share.Mean), fmt.Sprintf("%.2f to %.2f", p.Share.Lo, p.Share.Hi), part(p.Fits))
		}
		return out.print(a.stdout, res, t)
	})
}

type predictedPair struct {
	Application string        `json:"application"`
	Beside      string        `json:"beside"`
	GPUType     string        `json:"gpu_type"`
	Workers     int           `json:"workers,omitempty"`
	Share       data.Estimate `json:"share"`
	Fits        float64       `json:"p_fits"`
}

// predictPairs predicts the pairs of the jobs of a table that were not measured.
func predictPairs(rows []interference.Row) []predictedPair {
	_, measured := grouped.By(rows, func(r interference.Row) interference.Row { r.Share = 0; return r })
	places, at := grouped.By(rows, func(r interference.Row) interference.Row {
		return interference.Row{GPUType: r.GPUType, Workers: r.Workers}
	})
	m, out := interference.Fit(rows), []predictedPair{}
	for _, r := range places {
		var names []string
		for _, row := range at[r] {
			names = append(names, row.Job, row.Beside)
		}
		slices.Sort(names)
		names = slices.Compact(names)
		for _, r.Job = range names {
			for _, r.Beside = range names {
				if measured[r] == nil {
					p := m.Predict(r)
					out = append(out, predictedPair{r.Job, r.Beside, r.GPUType, r.Workers, p.Share, p.Fits})
				}
			}
		}
	}
	slices.SortStableFunc(out, func(a, b predictedPair) int { return cmp.Compare(a.GPUType, b.GPUType) })
	return out
}
