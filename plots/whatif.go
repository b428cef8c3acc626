package plots

import (
	"knee/data"
	"knee/fit"
	"knee/predict"
)

// whatIf describes what changes of a model's physics would do to one curve.
type whatIf struct {
	Rates  Scalability // as it is, then under each change
	Faster []Series    // by how many per cent a step is faster under each change
}

// Changed is the model of a job under a change.
type Changed struct {
	Name  string
	Model *fit.Model
}

// NewWhatIf draws a condition as it is and under each change. The gain is the ratio of the
// step times, draw by draw: its interval is far narrower than that of either speed.
func NewWhatIf(now Condition, changes []Changed) (*Panels, error) {
	return drawn(whatIfOf(now, changes))
}

func whatIfOf(now Condition, changes []Changed) (whatIf, error) {
	var w whatIf
	var err error
	if w.Rates, err = ScalabilityOf([]Condition{now}, Throughput); err != nil {
		return w, err
	}
	w.Rates.Title, w.Rates.Subtitle, w.Rates.Series[0].Name = "What if: "+jobsOf([]Condition{now}), now.String(), "as it is"
	answers, err := now.Answers()
	if err != nil {
		return w, err
	}
	for _, c := range changes {
		all, err := predict.WhatIf(now.Predictor.Model, c.Model, answers)
		if err != nil {
			return w, err
		}
		rate, faster := Series{Name: c.Name}, Series{Name: c.Name}
		for _, a := range all {
			k, ratio := float64(a.Config.Workers), a.Speedup
			then := predict.Answer{StepTime: a.After, Throughput: a.After.Per(a.Config.SamplesPerStep())}
			rate.Curve = append(rate.Curve, BandOf(k, estimateOf(then, w.Rates.Quantity), a.Extrapolated))
			faster.Curve = append(faster.Curve, BandOf(k, data.Estimate{Mean: 100 * (ratio.Mean - 1), Lo: 100 * (ratio.Lo - 1), Hi: 100 * (ratio.Hi - 1)}, a.Extrapolated))
		}
		w.Rates.Series, w.Faster = append(w.Rates.Series, rate), append(w.Faster, faster)
	}
	return w, nil
}

// draw draws left the rates, right what each change gains.
func (w whatIf) draw() (*Panels, error) {
	title, subtitle := w.Rates.Title, w.Rates.Subtitle
	w.Rates.Title, w.Rates.Subtitle, w.Rates.Ideal = "Speed", "", false
	rates, err := NewScalability(w.Rates)
	if err != nil {
		return nil, err
	}
	faster := append([]Series{{Name: "as it is"}}, w.Faster...) // the colours of the left panel
	if err := checkSeries(faster, finite); err != nil {
		return nil, err
	}
	gains := curvesChart("What each gains", "workers", "steps faster by (%)", faster)
	gains.legend = gains.legend[1:]
	y := newExtent() // all of the intervals: they are the answer
	y.add(0)
	for _, s := range w.Faster {
		for _, b := range s.Curve {
			y.add(b.Lo, b.Hi)
		}
	}
	setY(gains.Plot, y, false, 0)
	return newPanels(title, subtitle, rates, gains), nil
}
