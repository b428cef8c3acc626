package main

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"math"
	"math/rand/v2"
	"slices"
	"strings"

	"gonum.org/v1/gonum/stat"

	"knee/data"
	"knee/fit/prior"
	"knee/fit/speed"
	"knee/internal/parallel"
)

// each calls f for 0 to n−1 in parallel.
func each(n int, f func(i int)) {
	_ = parallel.Each(n, 1, func() func(i int) error { // f returns no errors
		return func(i int) error { f(i); return nil }
	})
}

// Bounds: splits of a dataset and protocol, rows of a split.
const (
	maxExamples = 8
	maxTrain    = 32
	maxTest     = 8
)

// examplesOf picks the splits to learn from: one of each protocol of each job,
// with bounded rows.
func examplesOf(splits []split) []split {
	var out []split
	seen, count := map[string]bool{}, map[string]int{}
	for _, s := range splits {
		of := s.dataset + "|" + s.protocol
		job := of + "|" + s.name + "|" + gpuTypes(s.test)[0]
		if seen[job] || count[of] == maxExamples {
			continue
		}
		seen[job] = true
		count[of]++
		s.train, s.test = some(s.train, maxTrain, 3), some(s.test, maxTest, 4)
		out = append(out, s)
	}
	return out
}

// some returns at most n rows, at random.
func some(rows []data.Measurement, n int, seed uint64) []data.Measurement {
	if len(rows) <= n {
		return rows
	}
	var out []data.Measurement
	for _, i := range rand.New(rand.NewPCG(seed, 2)).Perm(len(rows))[:n] {
		out = append(out, rows[i])
	}
	return out
}

// worst is the value of a split that could not be fitted.
const worst = -20

// value is what learning maximises: the mean log predictive density of held-out rows.
func (s *split) value(p *prior.Speed) float64 {
	m, err := speed.Fit(context.Background(), s.train, speed.Settings{Prior: p, Screened: true})
	if err != nil {
		return worst
	}
	var v float64
	for _, t := range s.test {
		density, err := m.LogDensity(t)
		if err != nil {
			return worst
		}
		v += density / float64(len(s.test))
	}
	return v
}

// bySource returns the mean of v, a value per split, over the splits of each source; its
// datasets and protocols count equally. NaN is skipped.
func bySource(splits []split, v []float64) map[string]float64 {
	protocols := map[string]map[string][]float64{}
	for i, s := range splits {
		if math.IsNaN(v[i]) {
			continue
		}
		if protocols[s.source()] == nil {
			protocols[s.source()] = map[string][]float64{}
		}
		k := s.dataset + "|" + s.protocol
		protocols[s.source()][k] = append(protocols[s.source()][k], v[i])
	}
	out := map[string]float64{}
	for source, of := range protocols {
		for _, k := range slices.Sorted(maps.Keys(of)) {
			out[source] += mean(of[k]) / float64(len(of))
		}
	}
	return out
}

// number is a learned number of the prior.
type number struct {
	name     string
	concerns func(s *split) bool
	at       func(p *prior.Speed) *float64
}

// numbers are the scales of the prior. Mean and sd of each form's parameters
// stay as physics gives them: datasets do not gain from learning them on
// others.
func numbers() []number {
	all := func(*split) bool { return true }
	knobs := func(s *split) bool { return len(s.train[0].Extra) > 0 }
	untried := func(s *split) bool {
		name, one := strings.CutPrefix(s.protocol, "one ")
		return one && slices.Contains(append(data.LayoutNames(), "server count"), name)
	}
	types := func(s *split) bool { return len(gpuTypes(s.train)) > 1 }
	return []number{
		{"noise", all, func(p *prior.Speed) *float64 { return &p.Kernel.Noise }},
		{"process", all, func(p *prior.Speed) *float64 { return &p.Kernel.Process }},
		{"length", all, func(p *prior.Speed) *float64 { return &p.Kernel.Length }},
		{"knobs", knobs, func(p *prior.Speed) *float64 { return &p.Kernel.Knobs }},
		{"knob length", knobs, func(p *prior.Speed) *float64 { return &p.Kernel.KnobLength }},
		{"layouts", (*split).layouts, func(p *prior.Speed) *float64 { return &p.Kernel.Layouts }},
		{"tiers", all, func(p *prior.Speed) *float64 { return &p.Kernel.Tiers }},
		{"untried", untried, func(p *prior.Speed) *float64 { return &p.Kernel.Untried }},
		{"own", types, func(p *prior.Speed) *float64 { return &p.Own }},
		{"shared", all, func(p *prior.Speed) *float64 { return &p.Shared }},
		{"disturbed", all, func(p *prior.Speed) *float64 { return &p.Disturbed }},
		{"scatter", all, func(p *prior.Speed) *float64 { return &p.Scatter }},
		{"launches", all, func(p *prior.Speed) *float64 { return &p.Launches.SD }},
		{"tail", all, func(p *prior.Speed) *float64 { return &p.Tail }},
	}
}

// steps are the moves tried of the logarithm of a number, small ones first.
var steps = []float64{-.5, .5, -1, 1}

// moved returns a prior with a number multiplied by e^by; a share is at most 1.
func (n *number) moved(p *prior.Speed, by float64) *prior.Speed {
	c := *p // shallow: no number is in Forms
	*n.at(&c) *= math.Exp(by)
	c.Own = min(c.Own, 1)
	return &c
}

// gains holds the gain of each move of a number, by source.
type gains map[float64]map[string]float64

// gainsOf evaluates the moves of all numbers from a prior.
func gainsOf(from *prior.Speed, splits []split, log func(string, ...any)) []gains {
	before := make([]float64, len(splits))
	each(len(splits), func(i int) { before[i] = splits[i].value(from) })
	var all []gains
	for _, n := range numbers() {
		g := gains{}
		for _, by := range steps {
			to, gain := n.moved(from, by), make([]float64, len(splits))
			each(len(splits), func(i int) {
				if gain[i] = math.NaN(); n.concerns(&splits[i]) {
					gain[i] = splits[i].value(to) - before[i]
				}
			})
			g[by] = bySource(splits, gain)
			log("%s × %.2f:%s", n.name, math.Exp(by), words(g[by]))
		}
		all = append(all, g)
	}
	return all
}

// words formats a number for each source.
func words(by map[string]float64) (text string) {
	for _, source := range slices.Sorted(maps.Keys(by)) {
		text += fmt.Sprintf(" %s %+.3f", source, by[source])
	}
	return text
}

// sources returns the sources of a number's gains, except some.
func (g gains) sources(without []string) []string {
	return slices.DeleteFunc(slices.Sorted(maps.Keys(g[steps[0]])), func(s string) bool { return slices.Contains(without, s) })
}

// leastMove returns the smallest move whose mean gain over sources, except some, is
// within a standard error of the best: the one-standard-error rule (Breiman et al.,
// Classification and Regression Trees, 1984, section 3.4.3). It is 0 if sources
// disagree or there is only one.
func (g gains) leastMove(without ...string) float64 {
	sources := g.sources(without)
	if len(sources) < 2 {
		return 0
	}
	over := func(by, than float64) (m, se float64) {
		var d []float64
		for _, s := range sources {
			d = append(d, g[by][s]-g[than][s]) // 0 without a move
		}
		return meanError(d)
	}
	best := slices.MaxFunc(steps, func(a, b float64) int {
		m, _ := over(a, b)
		return cmp.Compare(m, 0)
	})
	for _, by := range append([]float64{0}, steps...) {
		if m, se := over(best, by); m <= se {
			return by
		}
	}
	return best
}

// checkedMove returns the least move, or 0 unless sources gain from the least moves of
// the others by more than a standard error.
func (g gains) checkedMove(without ...string) float64 {
	var gain []float64
	for _, s := range g.sources(without) {
		gain = append(gain, g[g.leastMove(append([]string{s}, without...)...)][s])
	}
	if m, se := meanError(gain); !(m > se) {
		return 0
	}
	return g.leastMove(without...)
}

// meanError returns the mean of values and its standard error.
func meanError(v []float64) (m, se float64) {
	m, sd := stat.MeanStdDev(v, nil)
	return m, stat.StdErr(sd, float64(len(v)))
}

// learn applies the checked moves and describes them.
func learn(from *prior.Speed, all []gains, without ...string) (to *prior.Speed, moves []string) {
	to = from
	for i, n := range numbers() {
		if by := all[i].checkedMove(without...); by != 0 {
			to = n.moved(to, by)
			moves = append(moves, fmt.Sprintf("%s × %.2f", n.name, math.Exp(by)))
		}
	}
	return to, moves
}

// betterBy returns the gain in log density under the prior learned from the other sources,
// over the starting values: mean over sources, standard error, gains.
func betterBy(from *prior.Speed, without map[string]*prior.Speed, splits []split) (m, se float64, by map[string]float64) {
	gain := make([]float64, len(splits))
	each(len(splits), func(i int) {
		s := &splits[i]
		if p := without[s.source()]; p != from {
			gain[i] = s.value(p) - s.value(from)
		}
	})
	by = bySource(splits, gain)
	m, se = meanError(slices.Collect(maps.Values(by)))
	return m, se, by
}

// layouts reports whether some rows of a split have layouts.
func (s *split) layouts() bool {
	return slices.ContainsFunc(s.train, func(m data.Measurement) bool { return !m.Plain() })
}

// source is the origin of the measurements of a split, held out to score it.
func (s *split) source() string {
	name := strings.TrimSuffix(s.dataset, " layouts")
	if strings.HasPrefix(name, "vtrain") {
		return "vtrain"
	}
	return name
}
