package main

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"knee/fit"
	"knee/fit/convergence"
	"knee/predict"
)

// goal turns the flags into the remaining work, and prints what the convergence
// model predicts for a target loss.
func (a *app) goal(cmd *cobra.Command, f predictFlags, m *fit.Model) (predict.Goal, error) {
	g := predict.Goal{Steps: f.steps, TargetLoss: f.target, HasTarget: cmd.Flags().Changed("target-loss")}
	c := m.Convergence()
	switch {
	case f.delta != 0 && c == nil:
		return g, usageError("--delta: the model has no training curve; give knee fit --curve")
	case f.delta != 0:
		e, err := c.StepsToConvergence(f.delta)
		if err != nil {
			return g, err
		}
		g.Steps = e.Mean
		a.note("converges (three epochs in a row with a decrease below %g of the largest loss) after %s %s", f.delta, between(e, number), unitOf(c))
		if c.Epochs {
			return g, fit.ErrEpochs
		}
	case g.HasTarget && c != nil:
		t, err := c.Target(f.target)
		if err != nil {
			return g, err
		}
		a.note("reaches %g with probability %.0f %%, after %s %s (%s); %s", f.target, 100*t.Chance, between(t.Steps, number), unitOf(c), t.Method, c.Reach.Meaning())
		a.warn(t.Notes...)
		if c.Epochs {
			return g, fit.ErrEpochs
		}
	}
	return g, nil
}

// unitOf names what a training curve counts.
func unitOf(c *convergence.Curve) string {
	if c.Epochs {
		return "epochs"
	}
	return "steps at the initial batch"
}

// adviseRate prints the usual scalings of the learning rate, if the batch of a
// prediction is not the initial one.
func (a *app) adviseRate(m *fit.Model, p predict.Answer) {
	n := m.NoiseScale()
	batch := p.Config.GlobalBatch()
	if n == nil || batch <= 0 || batch == n.InitialBatch {
		return
	}
	var rules []string
	for _, r := range n.LearningRates(batch) {
		rules = append(rules, fmt.Sprintf("%s ×%s", r.Name, number(r.Factor)))
	}
	if len(rules) > 0 {
		a.note("learning rate at global batch %s instead of %s: %s; these rules of thumb disagree, so try them", number(batch), number(n.InitialBatch), strings.Join(rules, ", "))
	}
}
