package main

import (
	"github.com/spf13/cobra"

	"knee/data"
	"knee/fit"
	"knee/fit/convergence"
)

type curveFlags struct {
	file         string
	initialBatch float64
	family       string
	planned      float64
	dataset      float64
	milestones   []float64
	finished     []string
	reach        string
}

func (f *curveFlags) register(cmd *cobra.Command) {
	fl := cmd.Flags()
	fl.StringVar(&f.file, "curve", "", "training curves, for convergence and efficiency")
	fl.Float64Var(&f.initialBatch, "initial-batch", 0, "global batch at efficiency 1 (default: the smallest in the curves)")
	fl.Float64Var(&f.dataset, "dataset", 0, "samples of an epoch, for curves without steps")
	f.registerRun(cmd)
}

// registerRun adds the flags that describe the rest of the run.
func (f *curveFlags) registerRun(cmd *cobra.Command) {
	fl := cmd.Flags()
	fl.StringVar(&f.family, "curve-family", fit.Auto, "form: auto, "+convergence.Optimus)
	fl.Float64Var(&f.planned, "planned-epochs", 0, "planned length of the run")
	fl.Float64SliceVar(&f.milestones, "milestones", nil, "epochs with a cut of the learning rate, such as 30,60")
	fl.StringVar(&f.reach, "reach", "", "what meets a target: first or smooth (default: by the data)")
	fl.StringSliceVar(&f.finished, "finished-run", nil, "curves of finished runs with the same schedule")
}

// add fits the convergence of a model, if there is a curve.
func (f *curveFlags) add(a *app, m *fit.Model, points []data.CurvePoint) error {
	if f.file == "" {
		if len(f.finished) > 0 || f.planned != 0 || f.dataset != 0 || len(f.milestones) > 0 {
			return usageError("--finished-run, --planned-epochs, --dataset and --milestones: want --curve with them")
		}
		return nil
	}
	s, err := f.settings(a)
	if err != nil {
		return err
	}
	return m.AddCurve(points, data.Batch{Initial: f.initialBatch}, s)
}

func (f *curveFlags) settings(a *app) (convergence.Settings, error) {
	s := convergence.Settings{Family: f.family, PlannedEpochs: f.planned, Dataset: f.dataset, Milestones: f.milestones, Reach: convergence.Reach(f.reach)}
	if f.family != fit.Auto && f.family != convergence.Optimus {
		return s, usageError("--curve-family %q: want auto or one of %s", f.family, convergence.Optimus)
	}
	for _, path := range f.finished {
		run, err := a.curves(path)
		if err != nil {
			return s, err
		}
		s.Templates = append(s.Templates, run)
	}
	return s, nil
}
