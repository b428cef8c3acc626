package main

import (
	"strings"

	"github.com/spf13/cobra"

	"knee/bayesopt/baseline"
	"knee/fit"
	"knee/profile"
)

type searchFlags struct {
	strategy, warm string
	once           bool
	target         float64
}

func (f *searchFlags) add(cmd *cobra.Command) {
	cmd.Flags().StringVar(&f.strategy, "strategy", baseline.Guided, "strategy: "+strings.Join(baseline.Strategies(), ", "))
	completes(cmd, "strategy", baseline.Strategies())
	cmd.Flags().BoolVar(&f.once, "once", false, "never repeat a measurement")
	cmd.Flags().Float64Var(&f.target, "target-regret", 0.05, "stop when a result better by this share is improbable")
	cmd.Flags().StringVar(&f.warm, "warm-start", "", "model.json of a similar job")
}

// search returns the settings of the search, loading the model of --warm-start.
func (f *searchFlags) search() (profile.Search, error) {
	s := profile.Search{Strategy: f.strategy, Once: f.once, TargetRegret: f.target}
	if f.warm == "" {
		return s, nil
	}
	var err error
	s.Warm, err = fit.ReadModel(f.warm)
	return s, err
}
