package main

import (
	"cmp"
	"fmt"
	"slices"

	"knee/data"
	"knee/internal/term"
	"knee/plots"
)

// mostBars is how many bars of a sketch are still taken in at a glance.
const mostBars = 24

// sketchTrials draws what a study has found as text: the best speed of every
// number of workers, and all trials in one line. It draws nothing of fewer
// than three bars.
func (a *app) sketchTrials(ms []data.Measurement) error {
	speed, what := data.Measurement.Throughput, "samples/s"
	if slices.ContainsFunc(ms, func(m data.Measurement) bool { return m.Status == data.OK && !(m.Throughput() > 0) }) {
		speed, what = func(m data.Measurement) float64 { return 1 / m.StepTime }, "steps/s"
	}
	bars, one := trialBars(ms, speed)
	if len(bars) < fewestBars || len(bars) > mostBars {
		return nil
	}
	width := term.Width(a.stdout)
	if err := plots.Terminal(a.stdout, fmt.Sprintf("\nbest %s by workers%s", what, one), bars, width); err != nil {
		return err
	}
	var values []float64
	for _, m := range ms[max(0, len(ms)-width/2):] {
		v := 0.0
		if m.Status == data.OK {
			v = speed(m)
		}
		values = append(values, v)
	}
	_, err := fmt.Fprintf(a.stdout, "trials %d to %d %s\n", len(ms)-len(values)+1, len(ms), plots.SparkLine(values))
	return err
}

// trialBars is one bar for every kind of configuration and number of workers,
// and what the kind is called if there is one only. Where nothing could be
// measured, the bar says what came of it.
func trialBars(ms []data.Measurement, speed func(data.Measurement) float64) (bars []plots.Bar, one string) {
	kind := func(m data.Measurement) string {
		return kindWords(data.Config{GPUType: m.GPUType, Mode: m.ModeOrDefault(), PS: m.PS})
	}
	ms = slices.Clone(ms)
	slices.SortStableFunc(ms, func(a, b data.Measurement) int { return cmp.Or(cmp.Compare(kind(a), kind(b)), a.Workers-b.Workers) })
	if len(ms) > 0 && kind(ms[0]) == kind(ms[len(ms)-1]) {
		one = ", " + kind(ms[0])
	}
	best := 0
	for i, m := range ms {
		next := i == 0 || kind(m) != kind(ms[i-1]) || m.Workers != ms[i-1].Workers
		if next {
			label := fmt.Sprintf("%d worker%s", m.Workers, plural(m.Workers))
			if one == "" {
				label = kind(m) + ": " + label
			}
			bars = append(bars, plots.Bar{Label: label, Failed: true, Note: string(m.Status)})
		}
		b := &bars[len(bars)-1]
		if m.Status == data.OK && (b.Failed || speed(m) > b.Mean) {
			b.Failed, b.Mean, b.Note = false, speed(m), ""
			if m.LocalBatch > 0 {
				b.Note = "batch " + number(m.LocalBatch)
			}
		}
	}
	for i, b := range bars {
		if b.Mean > bars[best].Mean {
			best = i
		}
	}
	if len(bars) > 0 && !bars[best].Failed {
		bars[best].Note += " ◀ best"
	}
	return bars, one
}
