package main

import (
	"fmt"

	"knee/internal/term"
	"knee/plots"
	"knee/predict"
)

// fewestBars is the least number of configurations of a sketched curve.
const fewestBars = 3

// sketch draws a curve as text, for a terminal.
func (a *app) sketch(answers []predict.Answer) error {
	if len(answers) < fewestBars {
		return nil
	}
	c := answers[0].Config
	title := fmt.Sprintf("\n%s %s", c.GPUType, c.ModeOrDefault())
	if c.PS > 0 {
		title += fmt.Sprintf(", %d ps", c.PS)
	}
	knee := predict.Knee(answers)
	batch := answers[0].Goodput.Mean > 0
	bars := make([]plots.Bar, len(answers))
	for i, p := range answers {
		e := p.Goodput
		if !batch {
			e = p.StepTime.Per(1)
		}
		bars[i] = plots.Bar{Label: fmt.Sprint(p.Config.Workers), Mean: e.Mean, Lo: e.Lo, Hi: e.Hi}
		switch {
		case i == knee && i < len(answers)-1:
			bars[i].Note = "◀ knee"
		case p.Extrapolated:
			bars[i].Note = "?" // outside the measured range
		}
	}
	what := ": goodput (samples/s) by workers (░ 90 % interval, ? extrapolated)"
	if !batch {
		what = ": steps/s by workers (░ 90 % interval, ? extrapolated)"
	}
	return plots.Terminal(a.stdout, term.Hanging(a.stdout, title+what), bars, term.Width(a.stdout))
}
