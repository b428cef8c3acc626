package main

import (
	"fmt"

	"github.com/spf13/cobra"

	"knee/fit"
	"knee/plots"
)

func newPlotWhatIf(a *app) *cobra.Command {
	var file, workers string
	var base baseFlags
	var changes []string
	cmd := &cobra.Command{
		Use:   "what-if MODEL.json",
		Short: "What a faster link, or communication hidden behind arithmetic, would bring",
		Long: `what-if draws the speed against workers as it is and under each change, and by
how much each makes a step faster, with 90 % intervals. Without --change it asks
for links that take half as long and for perfect overlap. Names of changes are
those of knee predict --what-if.`,
		Example: `  knee plot what-if model.json -f what-if.svg
  knee plot what-if model.json --change inter_node=0.5x --change inter_node=0.5x,overlap=max -f links.svg`,
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			c, err := base.open(args[0])
			if err != nil {
				return err
			}
			if workers != "" {
				if c.Workers, err = counts("workers", workers); err != nil {
					return err
				}
			}
			only := *c.Predictor.Model
			only.Model = only.Only(c.Base.GPUType, c.Base.ModeOrDefault())
			c.Predictor.Model = &only
			changed, err := changedModels(&only, changes)
			if err != nil {
				return err
			}
			spec, err := plots.WhatIfOf(c, changed)
			if err != nil {
				return err
			}
			fig, err := plots.NewWhatIf(spec)
			if err != nil {
				return err
			}
			return a.save(file, fig)
		},
	}
	fileFlag(cmd, &file, "what-if.svg")
	base.add(cmd)
	cmd.Flags().StringArrayVar(&changes, "change", nil, "a change, or several at once, as knee predict --what-if takes them; may be repeated")
	cmd.Flags().StringVar(&workers, "workers", "", "numbers of workers: 1,2,4 or 1..16 or 1..64*2 (default: twice the range measured)")
	return cmd
}

// changedModels applies each change. Of the default ones, those that the model
// cannot make are left out.
func changedModels(m *fit.Model, changes []string) ([]plots.Changed, error) {
	names := map[string]string{}
	asked := len(changes) > 0
	if !asked {
		changes = []string{"inter_node=0.5x", "intra_node=0.5x", "transfer=0.5x", "overlap=max"}
		names = map[string]string{changes[0]: "network between nodes twice as fast", changes[1]: "links within a node twice as fast",
			changes[2]: "parameter servers twice as fast", changes[3]: "perfect overlap"}
	}
	var out []plots.Changed
	var failed error
	for _, text := range changes {
		parsed, err := parseChanges(text)
		if err != nil {
			return nil, err
		}
		speed, err := m.WhatIf(parsed)
		if err != nil {
			if failed = err; asked {
				return nil, err
			}
			continue
		}
		name, changed := names[text], *m
		if name == "" {
			name = text
		}
		changed.Model = speed
		out = append(out, plots.Changed{Name: name, Model: &changed})
	}
	if len(out) == 0 {
		return nil, fmt.Errorf("no change can be made: %w", failed)
	}
	return out, nil
}
