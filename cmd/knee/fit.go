package main

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"knee/data"
	"knee/fit"
)

func newFit(a *app) *cobra.Command {
	var job, pool, family, file, interconnect, message string
	var out format
	var curve curveFlags
	var cluster []string
	var seed int64
	var noAdvice bool
	columns := columnsFlag{}
	cmd := &cobra.Command{
		Use:   "fit MEASUREMENTS.csv...",
		Short: "Fit speed curves to measurements and save the model",
		Long: `fit models the step time of one job, for each GPU type and mode, and with --curve
its convergence and statistical efficiency. model.json holds all that knee
predict, plot and allocate need.

It prints the parameters with 90 % intervals; how well every family predicts
each measurement from the others, and large configurations from small ones; and
which measurement would narrow the predictions most.

Measurements on one node say nothing of the network between nodes. Give what you
know: --cluster, models of other jobs on the same machines, or --interconnect,
the speed of the links, with --message-bytes, what one synchronisation moves.`,
		Example: `  knee fit study.measurements.csv -f model.json
  knee fit study.measurements.csv --curve study.curve.csv --initial-batch 64
  knee fit old.csv new.csv --family pollux -f pollux.json -o markdown
  knee fit new.csv --curve now.csv --finished-run earlier.csv --planned-epochs 90
  knee fit new.csv --cluster bert.json,resnet.json --interconnect 12.5G --message-bytes 102M`,
		Args: cobra.MinimumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			ms, err := a.rows(data.Import{Columns: columns, Given: map[string]string{"job": job}, Repeats: mostRepeats}, job, args...)
			if err != nil {
				return err
			}
			if len(ms) == 0 {
				return &data.InputError{Source: data.Source{File: strings.Join(args, ", ")}, Found: "no rows", Want: "measurements to fit"}
			}
			points, err := a.curves(curve.file)
			if err != nil {
				return err
			}
			for i := range ms {
				if pool != "" {
					ms[i].Job = pool
				}
			}
			settings, err := fitSettings(family, seed, cluster, interconnect, message)
			if err != nil {
				return err
			}
			busy := a.progress().Busy(fmt.Sprintf("fitting %d measurements", len(ms)))
			m, err := fit.FitContext(cmd.Context(), ms, settings)
			busy.Close()
			if err != nil {
				return err
			}
			if err := curve.add(a, m, points); err != nil {
				return err
			}
			busy = a.progress().Busy("holding measurements out of every family")
			defer busy.Close()
			res, err := newFitResult(cmd.Context(), m)
			if err != nil {
				return err
			}
			if err := fit.WriteModel(file, m); err != nil {
				return err
			}
			if !noAdvice {
				busy.Now("weighing what one more measurement would buy")
				if err := res.advise(m); err != nil {
					return err
				}
			}
			busy.Close()
			a.warn(m.Warnings()...)
			if err := res.print(a.stdout, out); err != nil {
				return err
			}
			a.note("model of %s in %s", m.Job(), file)
			return nil
		},
	}
	curve.register(cmd)
	f := cmd.Flags()
	f.StringVarP(&file, "file", "f", "model.json", "file for the model")
	formatFlag(cmd, &out)
	f.StringVar(&family, "family", fit.Auto, "form: auto, "+strings.Join(fit.FamilyNames(), ", "))
	f.StringVar(&job, "job", "", "which of several jobs; its name where the file has no column job")
	f.StringVar(&pool, "pool", "", "common name of several sizes of a model")
	f.Var(columns, "columns", columnsUsage)
	f.Int64Var(&seed, "seed", 1, "seed of random draws")
	f.StringSliceVar(&cluster, "cluster", nil, "models of other jobs on the same machines")
	f.StringVar(&interconnect, "interconnect", "", "bytes/s between two nodes, such as 12.5G")
	f.StringVar(&message, "message-bytes", "", "bytes of a synchronisation, such as 102M (4 × parameters)")
	f.BoolVar(&noAdvice, "no-advice", false, "do not recommend the next measurement")
	completes(cmd, "family", append([]string{fit.Auto}, fit.FamilyNames()...))
	return cmd
}

// fitSettings turns flags into settings, loading the models of other jobs.
func fitSettings(family string, seed int64, cluster []string, interconnect, message string) (fit.Settings, error) {
	s := fit.Settings{Family: family, Seed: seed}
	for _, q := range []struct {
		flag, text string
		to         *float64
	}{{"interconnect", interconnect, &s.Interconnect}, {"message-bytes", message, &s.MessageBytes}} {
		if q.text == "" {
			continue
		}
		n, err := data.ParseQuantity(q.text)
		if err != nil || n <= 0 {
			return s, usageError("--%s %q: want bytes such as 102M or 12.5Gi", q.flag, q.text)
		}
		*q.to = float64(n)
	}
	if (s.Interconnect > 0) != (s.MessageBytes > 0) {
		return s, usageError("--interconnect and --message-bytes: want both or neither")
	}
	for _, path := range cluster {
		m, err := fit.ReadModel(path)
		if err != nil {
			return s, err
		}
		s.Others = append(s.Others, m.Model)
	}
	return s, nil
}

// mostRepeats bounds the repeats of a configuration that a fit uses: the standard
// error of the mean of a hundred is a tenth of their standard deviation.
const mostRepeats = 100
