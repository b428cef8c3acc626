package main

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"math"
	"slices"

	"gonum.org/v1/gonum/stat"

	"knee/data"
	"knee/fit/prior"
	"knee/fit/speed"
	"knee/internal/quantile"
)

// score is the accuracy on a split: absolute relative errors by predictor.
type score struct {
	*split
	errors map[string][]float64 // by predictor
	inside []float64            // 1 for each row inside its interval, else 0
	// choices are the numbers of GPUs with several layouts, near those where
	// the predictor's choice is within 3 % of the best, by predictor.
	choices, near map[string]float64
}

// Names of predictors.
const (
	ours    = "knee"
	linear  = "linear"
	power   = "power"
	logGP   = "gp"
	optimus = "optimus"
	ratio   = "ratio"
	leftOut = "left out"
)

// scoreOf predicts the held-out rows of a split.
func scoreOf(s *split, p *prior.Speed) (score, error) {
	r := score{split: s, errors: map[string][]float64{}, choices: map[string]float64{}, near: map[string]float64{}}
	m, err := speed.Fit(context.Background(), s.train, speed.Settings{Prior: p})
	if err != nil {
		return r, err
	}
	rivals, err := s.rivals(p)
	if err != nil {
		return r, err
	}
	cs := make([]data.Config, len(s.test))
	for i, t := range s.test {
		cs[i] = t.Config
	}
	predicted, err := m.PredictAll(cs)
	if err != nil {
		return r, err
	}
	for i, t := range s.test {
		e := predicted[i]
		r.errors[ours] = append(r.errors[ours], math.Abs(e.StepTime.Mean/t.StepTime-1))
		in := 0.
		if e.StepTime.Lo <= t.StepTime && t.StepTime <= e.StepTime.Hi {
			in = 1
		}
		r.inside = append(r.inside, in)
		for name, f := range rivals {
			r.errors[name] = append(r.errors[name], math.Abs(f(t)/t.StepTime-1))
		}
	}
	if s.layouts() {
		r.choose(ours, func(i int) float64 { return predicted[i].Median })
		r.choose(measured, func(int) float64 { return math.Inf(1) })
		for name, f := range rivals {
			r.choose(name, func(i int) float64 { return f(s.test[i]) })
		}
	}
	return r, nil
}

// measured is the choice of the best row measured.
const measured = "best measured"

// choose scores the choice of the row measured or predicted fastest, for every
// number of GPUs with several layouts.
func (r *score) choose(name string, predict func(row int) float64) {
	type pick struct {
		expected, time, best float64
		layouts              int
	}
	of := map[int]*pick{}
	add := func(t data.Measurement, expected float64) {
		p := of[t.Workers]
		if p == nil {
			p = &pick{math.Inf(1), math.Inf(1), math.Inf(1), 0}
			of[t.Workers] = p
		}
		p.layouts++
		if p.best = min(p.best, t.StepTime); expected < p.expected {
			p.expected, p.time = expected, t.StepTime
		}
	}
	for _, t := range ok(r.train) {
		add(t, t.StepTime)
	}
	for i, t := range r.test {
		add(t, predict(i))
	}
	for _, p := range of {
		if p.layouts > 1 {
			r.choices[name]++
			if p.time <= 1.03*p.best {
				r.near[name]++
			}
		}
	}
}

// scoresOf scores splits under the priors of their sources, by dataset and protocol.
func scoresOf(splits []split, of func(source string) *prior.Speed) ([]score, error) {
	results, errs := make([]score, len(splits)), make([]error, len(splits))
	each(len(splits), func(i int) { results[i], errs[i] = scoreOf(&splits[i], of(splits[i].source())) })
	for i, s := range splits {
		if errs[i] != nil {
			return nil, fmt.Errorf("%s, %s, %s: %w", s.dataset, s.name, s.protocol, errs[i])
		}
	}
	slices.SortStableFunc(results, func(a, b score) int {
		return cmp.Or(cmp.Compare(a.dataset, b.dataset), cmp.Compare(a.protocol, b.protocol))
	})
	return results, nil
}

// report writes a line for every dataset and protocol.
func report(w io.Writer, scores []score, verbose bool) {
	fmt.Fprintf(w, "%-22s %-13s %6s %6s %6s %7s  %s\n", "dataset", "protocol", "rows", "mean", "median", "inside", "rivals' means")
	for len(scores) > 0 {
		n := 1
		for n < len(scores) && scores[n].dataset == scores[0].dataset && scores[n].protocol == scores[0].protocol {
			n++
		}
		if verbose {
			for _, r := range scores[:n] {
				fmt.Fprintf(w, "  %s, %s: %.1f %%, linear %.1f, power %.1f; %.0f %% inside\n", r.name, r.protocol,
					100*mean(r.errors[ours]), 100*mean(r.errors[linear]), 100*mean(r.errors[power]), 100*mean(r.inside))
			}
		}
		fmt.Fprintln(w, summary(scores[:n]))
		scores = scores[n:]
	}
}

// summary is the line of one protocol.
func summary(of []score) string {
	all := map[string][]float64{}
	var inside []float64
	near, choices := map[string]float64{}, map[string]float64{}
	for _, r := range of {
		for name, e := range r.errors {
			all[name] = append(all[name], e...)
		}
		inside = append(inside, r.inside...)
		for name := range r.choices {
			near[name] += r.near[name]
			choices[name] += r.choices[name]
		}
	}
	line := fmt.Sprintf("%-22s %-13s %6d %6.1f %6.1f %7.1f  ", of[0].dataset, of[0].protocol, len(inside),
		100*mean(all[ours]), 100*quantile.Median(all[ours]), 100*mean(inside))
	for _, name := range []string{linear, power, logGP, optimus, ratio, leftOut} {
		if e := all[name]; e != nil {
			line += fmt.Sprintf(" %s %.1f", name, 100*mean(e))
		}
	}
	for _, name := range []string{ours, logGP, measured} {
		if choices[name] > 0 {
			line += fmt.Sprintf("; %s within 3 %%: %.0f of %.0f", name, near[name], choices[name])
		}
	}
	return line
}

func mean(v []float64) float64 { return stat.Mean(v, nil) }
