package main

import (
	"errors"
	"fmt"
	"strings"

	"github.com/dustin/go-humanize/english"
	"github.com/spf13/cobra"

	"knee/data"
	"knee/fit"
	"knee/predict"
)

// validateFlags select what is held out, for validate and plot residuals.
type validateFlags struct {
	job, test    string
	folds        int
	loo, forward bool
	families     []string
	seed         int64
}

func (v *validateFlags) add(cmd *cobra.Command) {
	f := cmd.Flags()
	f.StringVar(&v.test, "test", "", "predict the measurements of this file from the others")
	bounded(cmd, &v.folds, "folds", fmt.Sprintf("folds (default %d, or the number of configurations)", predict.DefaultFolds), atLeast(2))
	f.BoolVar(&v.loo, "leave-one-out", false, "predict each configuration from the others")
	f.BoolVar(&v.forward, "forward", false, "predict the larger worker counts from the smaller half")
	f.StringSliceVar(&v.families, "family", []string{fit.Auto}, "families to compare, as in knee fit")
	f.StringVar(&v.job, "job", "", "only this job (default: each by itself)")
	f.Int64Var(&v.seed, "seed", predict.DefaultSeed, "seed of random draws")
	cmd.MarkFlagsMutuallyExclusive("test", "folds", "leave-one-out", "forward")
	completesList(cmd, "family", append([]string{fit.Auto}, fit.FamilyNames()...))
}

func (v *validateFlags) run(a *app, cmd *cobra.Command, files []string) (*predict.Validation, error) {
	ms, err := a.rows(data.Import{}, v.job, files...)
	if err != nil {
		return nil, err
	}
	bar := a.progress()
	defer bar.Close()
	s := predict.ValidationSettings{Families: v.families, Seed: v.seed, Folds: v.folds, Progress: func(done, total int) { bar.At(done, total, "fits") }}
	if cmd.Flags().Changed("folds") {
		s.Method = predict.KFold
	}
	var test []data.Measurement
	switch {
	case v.loo:
		s.Method = predict.LeaveOneOut
	case v.forward:
		s.Method = predict.Forward
	case v.test != "":
		s.Method = predict.HeldOut
		if test, err = a.rows(data.Import{}, v.job, v.test); err != nil {
			return nil, err
		}
		if len(test) == 0 {
			return nil, badFile(v.test, "no rows", "measurements to predict")
		}
	}
	val, err := predict.Validate(cmd.Context(), ms, test, s)
	if input, ok := errors.AsType[*data.InputError](err); ok && input.File == "" {
		input.File = strings.Join(files, ", ")
	}
	if err != nil {
		return nil, err
	}
	a.warn(val.Warnings...)
	for _, u := range val.Untested {
		a.warn(fmt.Sprintf("family %s: %s of %s, %s not predicted: %s", u.Family, english.Plural(u.Rows, "measurement", ""), u.Job, u.Kind(), u.Why))
	}
	return val, nil
}

func newValidate(a *app) *cobra.Command {
	var v validateFlags
	cmd := answering("validate MEASUREMENTS.csv...", func(cmd *cobra.Command, args []string, out format) error {
		val, err := v.run(a, cmd, args)
		if err != nil {
			return err
		}
		res := validateResult{val.Method, val.Totals(), val.ByGroup(), val.ByDistance(), val.Untested, val.Warnings}
		return out.print(a.stdout, res, res.table())
	})
	v.add(cmd)
	return cmd
}

type validateResult struct {
	Method    predict.Method     `json:"method"`
	Total     []predict.Summary  `json:"total"`
	Groups    []predict.Summary  `json:"groups"`
	Distances []predict.Summary  `json:"distances"`
	Untested  []predict.Untested `json:"untested,omitempty"`
	Warnings  []string           `json:"warnings,omitempty"`
}

// table lists groups, distances and totals, named in the first column.
func (r validateResult) table() *table {
	t := newTable("scope,job,gpu_type,mode,distance,family,n,mape,median,p90,coverage,half_width")
	percentage := func(v float64) string { return fmt.Sprintf("%.1f", v) }
	for _, part := range []struct {
		scope string
		rows  []predict.Summary
	}{{"group", r.Groups}, {"distance", r.Distances}, {"total", r.Total}} {
		for _, s := range part.rows {
			t.add(part.scope, s.Job, s.GPUType, s.Mode, s.Distance, s.Family, s.N,
				percentage(s.MAPE), percentage(s.Median), percentage(s.P90), percentage(s.Coverage), percentage(s.HalfWidth))
		}
	}
	return t
}
