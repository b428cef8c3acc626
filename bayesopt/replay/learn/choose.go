package main

import (
	"context"
	"fmt"
	"math"
	"slices"
	"strings"

	"knee/bayesopt"
	"knee/bayesopt/baseline"
	"knee/bayesopt/replay"
)

// knob is a constant and its candidate values.
type knob struct {
	name   string
	of     func(*bayesopt.Constants) *float64
	values []float64
}

// knobs returns the constants to learn.
func knobs() []knob {
	return []knob{
		{"failure cost", func(c *bayesopt.Constants) *float64 { return &c.FailureCost }, []float64{0, 0.01, 0.05}},
		{"usual fits", func(c *bayesopt.Constants) *float64 { return &c.UsualFits }, []float64{0.8, 0.9}},
		{"length sd", func(c *bayesopt.Constants) *float64 { return &c.LengthSD }, []float64{0.9, 1.7}},
		{"record trust", func(c *bayesopt.Constants) *float64 { return &c.RecordTrust }, []float64{1, 8}},
		{"stop chance", func(c *bayesopt.Constants) *float64 { return &c.StopChance }, []float64{0.03, 0.15}},
	}
}

// settings returns from with each value of the knob.
func (k knob) settings(from bayesopt.Constants) []bayesopt.Constants {
	var out []bayesopt.Constants
	for _, v := range k.values {
		c := from
		*k.of(&c) = v
		out = append(out, c)
	}
	return out
}

// describe lists the differences of c from from.
func describe(from, c bayesopt.Constants) string {
	var parts []string
	for _, k := range knobs() {
		if v := *k.of(&c); v != *k.of(&from) {
			parts = append(parts, fmt.Sprintf("%s %g", k.name, v))
		}
	}
	if len(parts) == 0 {
		return "present"
	}
	return strings.Join(parts, ", ")
}

// run is a table searched with a setting.
type run struct {
	setting bayesopt.Constants
	table   *replay.Table
}

// learner caches scores of searches.
type learner struct {
	seeds, budget int
	scores        map[run]replay.Score
}

// search runs the searches that are missing.
func (l *learner) search(settings []bayesopt.Constants, tables []*replay.Table) error {
	for _, c := range settings {
		missing := slices.DeleteFunc(slices.Clone(tables), func(t *replay.Table) bool { _, done := l.scores[run{c, t}]; return done })
		results, err := replay.Compare(context.Background(), missing, []string{baseline.Guided},
			replay.Settings{Goal: replay.Goal{Constants: &c}, Budget: l.budget, Seeds: l.seeds})
		if err != nil {
			return err
		}
		for k, r := range results {
			l.scores[run{c, missing[k]}] = r.Score
		}
	}
	return nil
}

// loss is ln of the evaluations to within 5 %, plus a tenth of ln of the
// evaluations until a search stops, plus the share of searches that then name a
// worse row, plus the share of failed evaluations.
func loss(s replay.Score) float64 {
	return math.Log(s.Evals) + 0.1*math.Log(max(1, s.StopEvals)) + 1 - s.StopWithin5 + s.Failed
}

// share is the weight of a table in an average over tables and then kinds.
func share(of *replay.Table, tables []*replay.Table) float64 {
	kinds := map[string]float64{}
	for _, t := range tables {
		kinds[t.Kind]++
	}
	return 1 / (kinds[of.Kind] * float64(len(kinds)))
}

// mean averages a figure over tables and then kinds.
func (l *learner) mean(figure func(replay.Score) float64, c bayesopt.Constants, tables []*replay.Table) (sum float64) {
	for _, t := range tables {
		sum += share(t, tables) * figure(l.scores[run{c, t}])
	}
	return sum
}

// choose takes for every knob, with the others at their present values, the
// value of least loss if its gain exceeds the standard error over the tables
// (Breiman et al., "Classification and regression trees", 1984, section 3.4.3).
func (l *learner) choose(now bayesopt.Constants, tables []*replay.Table) bayesopt.Constants {
	chosen := now
	for _, k := range knobs() {
		most := 0.0
		for _, c := range k.settings(now) {
			if gain, se := l.gain(now, c, tables); gain > max(most, se) {
				most, *k.of(&chosen) = gain, *k.of(&c)
			}
		}
	}
	return chosen
}

// gain returns the decrease of the loss from now to c, averaged over kinds of
// tables, and its standard error.
func (l *learner) gain(now, c bayesopt.Constants, tables []*replay.Table) (gain, se float64) {
	gain = l.mean(loss, now, tables) - l.mean(loss, c, tables)
	for _, t := range tables {
		off := share(t, tables) * (loss(l.scores[run{now, t}]) - loss(l.scores[run{c, t}]) - gain)
		se += off * off
	}
	return gain, math.Sqrt(se)
}

// fold is a part of the tables, and the rest.
type fold struct {
	name     string
	of, rest []*replay.Table
}

// foldsOf returns a fold for every kind of table.
func foldsOf(tables []*replay.Table) (folds []fold) {
	for _, t := range tables {
		if slices.ContainsFunc(folds, func(f fold) bool { return f.name == t.Kind }) {
			continue
		}
		f := fold{name: t.Kind}
		for _, u := range tables {
			if u.Kind == t.Kind {
				f.of = append(f.of, u)
			} else {
				f.rest = append(f.rest, u)
			}
		}
		folds = append(folds, f)
	}
	return folds
}
