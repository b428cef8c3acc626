package replay

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"knee/bayesopt"
	"knee/bayesopt/baseline"
)

// BenchmarkLearn chooses the constants of the guided search other than TailFreedom
// and StopChance (see BenchmarkClaims) on the learning tables, with b.N searches
// per table and setting:
//
//	go test ./bayesopt/replay -v -run '^$' -bench Learn -benchtime 1x -timeout 9h
//
// It searches every table with the present constants and with each of them
// changed, and prints the loss of each setting per kind of table. Each kind is
// left out once: the best values on the others are scored together on it,
// beside the present constants. The last line is the best setting on all.
func BenchmarkLearn(b *testing.B) {
	tables := learningTables(b)
	l := &learner{seeds: b.N, scores: map[run]Score{}}
	now := bayesopt.LearnedConstants()
	settings := []bayesopt.Constants{now}
	for _, k := range knobs() {
		settings = append(settings, k.settings(now)...)
	}
	l.search(b, settings, tables)
	folds := foldsOf(tables)
	for _, f := range folds {
		for _, c := range settings {
			b.Logf("%s: %s: loss %.3f", f.name, describe(now, c), l.mean(loss, c, f.of))
		}
	}
	for _, f := range folds {
		chosen := l.choose(now, f.rest)
		l.search(b, []bayesopt.Constants{chosen}, f.of)
		for _, c := range []bayesopt.Constants{chosen, now} {
			mean := func(figure func(Score) float64) float64 { return l.mean(figure, c, f.of) }
			b.Logf("%s left out: %s: %.2f evaluations, ends within 5 %% %.0f %% after %.1f, failed %.1f %%", f.name, describe(now, c), mean(func(s Score) float64 { return s.Evals }),
				100*mean(func(s Score) float64 { return s.StopWithin5 }), mean(func(s Score) float64 { return s.StopEvals }), 100*mean(func(s Score) float64 { return s.Failed }))
		}
	}
	b.Logf("best on all: %s", describe(now, l.choose(now, tables)))
}

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
	table   *Table
}

// learner caches scores of searches.
type learner struct {
	seeds  int
	scores map[run]Score
}

// search runs the searches that are missing.
func (l *learner) search(b *testing.B, settings []bayesopt.Constants, tables []*Table) {
	b.Helper()
	for _, c := range settings {
		missing := slices.DeleteFunc(slices.Clone(tables), func(t *Table) bool { _, done := l.scores[run{c, t}]; return done })
		results, err := Compare(b.Context(), missing, []string{baseline.Guided},
			Settings{Goal: Goal{Constants: &c}, Budget: 20, Seeds: l.seeds})
		if err != nil {
			b.Fatal(err)
		}
		for k, r := range results {
			l.scores[run{c, missing[k]}] = r
		}
	}
}

// loss is ln of the evaluations to within 5 %, plus a tenth of ln of the
// evaluations until a search stops, plus the share of searches that then name a
// worse row, plus the share of failed evaluations.
func loss(s Score) float64 {
	return math.Log(s.Evals) + 0.1*math.Log(max(1, s.StopEvals)) + 1 - s.StopWithin5 + s.Failed
}

// share is the weight of a table in an average over tables and then kinds.
func share(of *Table, tables []*Table) float64 {
	kinds := map[string]float64{}
	for _, t := range tables {
		kinds[t.Kind]++
	}
	return 1 / (kinds[of.Kind] * float64(len(kinds)))
}

// mean averages a figure over tables and then kinds.
func (l *learner) mean(figure func(Score) float64, c bayesopt.Constants, tables []*Table) (sum float64) {
	for _, t := range tables {
		sum += share(t, tables) * figure(l.scores[run{c, t}])
	}
	return sum
}

// choose takes for every knob, with the others at their present values, the
// value of least loss if its gain exceeds the standard error over the tables
// (Breiman et al., "Classification and regression trees", 1984, section 3.4.3).
func (l *learner) choose(now bayesopt.Constants, tables []*Table) bayesopt.Constants {
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
func (l *learner) gain(now, c bayesopt.Constants, tables []*Table) (gain, se float64) {
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
	of, rest []*Table
}

// foldsOf returns a fold for every kind of table.
func foldsOf(tables []*Table) (folds []fold) {
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

// The choice for a fold does not depend on the tables left out.
func TestChooseLeavesOut(t *testing.T) {
	now := bayesopt.LearnedConstants()
	tables := []*Table{{Name: "a", Kind: "a"}, {Name: "b", Kind: "b"}}
	l := &learner{scores: map[run]Score{}}
	for _, k := range knobs() {
		for _, c := range append(k.settings(now), now) {
			for _, t := range tables {
				s := Score{Evals: 8, StopEvals: 8}
				if c.LengthSD != now.LengthSD && t.Name == "a" {
					s.Evals = 2 // better on that kind only
				}
				l.scores[run{c, t}] = s
			}
		}
	}
	folds := foldsOf(tables)
	if c := l.choose(now, folds[0].rest); c != now {
		t.Errorf("without table a: %s, want the present constants", describe(now, c))
	}
	if c := l.choose(now, folds[1].rest); c.LengthSD == now.LengthSD {
		t.Errorf("without table b: %s, want another length sd", describe(now, c))
	}
}

// A search that ends sooner, better and without failures has a smaller loss.
func TestLoss(t *testing.T) {
	good := Score{Evals: 3, StopEvals: 3, StopWithin5: 1}
	for name, change := range map[string]func(*Score){
		"found later":      func(w *Score) { w.Evals = 4 },
		"stopped later":    func(w *Score) { w.StopEvals = 4 },
		"stopped too soon": func(w *Score) { w.StopEvals, w.StopWithin5 = 2, 0 },
		"failures":         func(w *Score) { w.Failed = 0.2 },
	} {
		worse := good
		change(&worse)
		if loss(worse) <= loss(good) {
			t.Errorf("%s: loss %g, want more than %g", name, loss(worse), loss(good))
		}
	}
}
