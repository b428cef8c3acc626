package main

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"knee/bayesopt"
	"knee/bayesopt/replay"
)

// knob is one constant and the values it may have.
type knob struct {
	name   string
	of     func(*bayesopt.Constants) *float64
	values []float64
}

// knobs are the constants that are learned.
func knobs() []knob {
	return []knob{
		{"failure cost", func(c *bayesopt.Constants) *float64 { return &c.FailureCost }, []float64{0, 0.01, 0.05}},
		{"usual fits", func(c *bayesopt.Constants) *float64 { return &c.UsualFits }, []float64{0.8, 0.9}},
		{"length sd", func(c *bayesopt.Constants) *float64 { return &c.LengthSD }, []float64{0.9, 1.7}},
		{"record trust", func(c *bayesopt.Constants) *float64 { return &c.RecordTrust }, []float64{2, 8}},
		{"stop chance", func(c *bayesopt.Constants) *float64 { return &c.StopChance }, []float64{0.03, 0.15}},
	}
}

// settings are those that differ from one in the knob.
func (k knob) settings(from bayesopt.Constants) []bayesopt.Constants {
	var out []bayesopt.Constants
	for _, v := range k.values {
		c := from
		if *k.of(&c) = v; c != from {
			out = append(out, c)
		}
	}
	return out
}

// describe says in what a setting differs from another.
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

// score is how searches did, or the mean of some.
type score struct{ loss, evals, stop, within, failed float64 }

// scoreOf returns that of a search. Its loss is the logarithm of the evaluations
// to within 5 %, a tenth of that of the evaluations until it stops, 1 if it then
// names a worse row, and the share of evaluations that failed.
func scoreOf(t replay.Trace) score {
	good := func(v float64) bool { return v <= 1.05*t.Optimum }
	at := slices.IndexFunc(t.Best, good)
	if at < 0 {
		at = len(t.Best)
	}
	s := score{evals: float64(at + 1), stop: float64(t.Stop), failed: float64(t.Infeasible) / float64(len(t.Best))}
	if good(t.Found) {
		s.within = 1
	}
	s.loss = math.Log(s.evals) + 0.1*math.Log(max(1, s.stop)) + 1 - s.within + s.failed
	return s
}

// score averages over seeds, tables and then kinds.
func (l *learner) score(c bayesopt.Constants, tables []*replay.Table) score {
	kinds := map[string]float64{}
	for _, t := range tables {
		kinds[t.Kind]++
	}
	var sum score
	for _, t := range tables {
		for seed := range l.seeds {
			s := l.scores[run{c, t, int64(seed)}]
			share := 1 / (kinds[t.Kind] * float64(len(kinds)*l.seeds))
			sum.loss += share * s.loss
			sum.evals += share * s.evals
			sum.stop += share * s.stop
			sum.within += share * s.within
			sum.failed += share * s.failed
		}
	}
	return sum
}

// choose takes for every knob the value of least loss with the others as they
// are, if it is better than the present one by
// more than the standard error of the difference over the tables (Breiman et
// al., "Classification and regression trees", 1984, section 3.4.3).
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

// gain is by how much the loss of a setting is less than that of the present
// one, the mean over kinds of tables, and its standard error.
func (l *learner) gain(now, c bayesopt.Constants, tables []*replay.Table) (gain, se float64) {
	kinds, count, gains := map[string]float64{}, map[string]float64{}, make([]float64, len(tables))
	for k, t := range tables {
		one := []*replay.Table{t}
		gains[k] = l.score(now, one).loss - l.score(c, one).loss
		kinds[t.Kind] += gains[k]
		count[t.Kind]++
	}
	for kind, sum := range kinds {
		gain += sum / count[kind] / float64(len(kinds))
	}
	for k, t := range tables {
		share := 1 / (count[t.Kind] * float64(len(kinds)))
		se += share * share * (gains[k] - gain) * (gains[k] - gain)
	}
	return gain, math.Sqrt(se)
}

// fold is a part of the tables, and the rest of them.
type fold struct {
	name     string
	of, rest []*replay.Table
}

// foldsOf are the kinds of tables, and every other table.
func foldsOf(tables []*replay.Table) []fold {
	var folds []fold
	for _, t := range tables {
		if !slices.ContainsFunc(folds, func(f fold) bool { return f.name == t.Kind }) {
			folds = append(folds, newFold(t.Kind, tables, func(k int) bool { return tables[k].Kind == t.Kind }))
		}
	}
	for half, name := range []string{"even tables", "odd tables"} {
		folds = append(folds, newFold(name, tables, func(k int) bool { return k%2 == half }))
	}
	return folds
}

func newFold(name string, tables []*replay.Table, in func(k int) bool) fold {
	f := fold{name: name}
	for k, t := range tables {
		if in(k) {
			f.of = append(f.of, t)
		} else {
			f.rest = append(f.rest, t)
		}
	}
	return f
}
