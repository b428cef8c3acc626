package main

import (
	"context"
	_ "embed"
	"fmt"
	"maps"
	"math"
	"math/rand/v2"
	"reflect"
	"regexp"
	"slices"
	"strings"

	"knee/data"
	"knee/fit/prior"
	"knee/fit/speed"
	"knee/internal/parallel"
)

// each calls f for 0 to n−1 on all processors.
func each(n int, f func(i int)) {
	_ = parallel.Each(n, 1, func() func(i int) error { // f has no errors
		return func(i int) error { f(i); return nil }
	})
}

// Bounds of the rows of a split that learning looks at.
const (
	maxTrain = 32
	maxTest  = 8
)

func thin(rows []data.Measurement, n int, seed uint64) []data.Measurement {
	if len(rows) <= n {
		return rows
	}
	var out []data.Measurement
	for _, i := range rand.New(rand.NewPCG(seed, 2)).Perm(len(rows))[:n] {
		out = append(out, rows[i])
	}
	return out
}

// learner looks for the prior under which held-out rows are likeliest.
type learner struct {
	splits []split
	scores []float64 // of the splits under pr
	pr     *prior.Speed
	value  float64
	log    func(format string, args ...any)
}

// worst is the value of a split that could not be fitted.
const worst = -20

// value is what learning maximises: the mean log predictive density of the
// rows that a split predicts, less their relative errors, which count up to
// one each.
func (s *split) value(p *prior.Speed) float64 {
	m, err := speed.Fit(context.Background(), s.train, speed.Settings{Prior: p, Screened: true})
	if err != nil {
		return worst
	}
	var v float64
	for _, t := range s.test {
		density, err := m.For(t.Architecture).LogDensity(t)
		if err != nil {
			return worst
		}
		e, _ := m.For(t.Architecture).StepTime(t.Config)
		v += (density - min(math.Abs(e/t.StepTime-1), 1)) / float64(len(s.test))
	}
	return v
}

// mean is the mean over splits, every dataset counting the same, and in it
// every protocol.
func (l *learner) mean(scores []float64) float64 {
	type key struct{ dataset, protocol string }
	sum, n := map[key]float64{}, map[key]float64{}
	for i, s := range l.splits {
		k := key{s.dataset, s.protocol}
		sum[k] += scores[i]
		n[k]++
	}
	of, protocols := map[string]float64{}, map[string]float64{}
	for k := range sum {
		of[k.dataset] += sum[k] / n[k]
		protocols[k.dataset]++
	}
	var total float64
	for _, d := range slices.Sorted(maps.Keys(of)) {
		total += of[d] / protocols[d]
	}
	return total / float64(len(of))
}

// byDataset writes the mean score of the splits of each dataset and protocol.
func (l *learner) byDataset() string {
	sum, n := map[string]float64{}, map[string]float64{}
	for i, s := range l.splits {
		sum[s.dataset+" "+s.protocol] += l.scores[i]
		n[s.dataset+" "+s.protocol]++
	}
	var words []string
	for _, k := range slices.Sorted(maps.Keys(sum)) {
		words = append(words, fmt.Sprintf("%s %.2f", k, sum[k]/n[k]))
	}
	return strings.Join(words, ", ")
}

// try keeps a prior if the splits that it concerns are likelier under it by
// more than the penalty.
func (l *learner) try(p *prior.Speed, concerns func(s *split) bool, penalty float64) bool {
	scores := slices.Clone(l.scores)
	each(len(l.splits), func(i int) {
		if concerns(&l.splits[i]) {
			scores[i] = l.splits[i].value(p)
		}
	})
	v := l.mean(scores) - penalty
	if v <= l.value {
		return false
	}
	l.scores, l.value, l.pr = scores, v, p
	return true
}

// layouts says that some rows of a split are spread otherwise than by data
// parallelism alone.
func (s *split) layouts() bool {
	return slices.ContainsFunc(s.train, func(m data.Measurement) bool { return !m.Plain() })
}

// dial is one number of the prior, on a scale where one is a large change.
type dial struct {
	name     string
	concerns func(s *split) bool
	move     func(p *prior.Speed, by float64)
}

func dials(p *prior.Speed) []dial {
	var all []dial
	servers := func(s *split) bool { return s.dataset == "ps" }
	workers := func(s *split) bool { return s.dataset != "ps" && !s.layouts() }
	knobs := func(s *split) bool { return len(s.train[0].Extra) > 0 }
	types := func(s *split) bool { return len(gpuTypes(s.train)) > 1 }
	batchless := func(s *split) bool { return s.train[0].LocalBatch == 0 }
	any := func(*split) bool { return true }
	for _, form := range slices.Sorted(maps.Keys(p.Forms)) {
		for _, name := range slices.Sorted(maps.Keys(p.Forms[form])) {
			concerns := workers
			switch {
			case name == "crowding" || name == "gpu_type":
				continue // of processors nothing was measured; GPU types differ in speed by anything
			case name == "compute" && form != "ps":
				all = append(all, dial{form + ".compute type", types, func(p *prior.Speed, by float64) {
					c := p.Forms[form][name]
					c.Type = min(c.Type*math.Exp(by), c.SD)
					p.Forms[form][name] = c
				}})
				continue
			case form == "ps":
				concerns = servers
			case form == "layout" || strings.HasPrefix(name, "layout"):
				concerns = (*split).layouts
			case name == "knob" || name == "level" || name == "curvature":
				concerns = knobs
			case name == "unknown_batch":
				concerns = batchless
			case form == "slopes":
				concerns = any
			}
			edit := func(f func(c *prior.Coordinate, by float64)) func(*prior.Speed, float64) {
				return func(p *prior.Speed, by float64) {
					c := p.Forms[form][name]
					f(&c, by)
					p.Forms[form][name] = c
				}
			}
			unit := p.Forms[form][name].SD
			power := strings.HasSuffix(name, "power")
			if form != "slopes" || name == "unknown_batch" {
				all = append(all, dial{form + "." + name + " mean", concerns, edit(func(c *prior.Coordinate, by float64) { c.Mean += by * unit })})
			}
			if power || name == "tree" { // the physics says how near to it they are
				continue
			}
			all = append(all, dial{form + "." + name + " sd", concerns, edit(func(c *prior.Coordinate, by float64) {
				c.SD *= math.Exp(by)
				c.Type *= math.Exp(by)
			})})
			if p.Forms[form][name].NVLink != 0 {
				all = append(all, dial{form + "." + name + " nvlink", concerns, edit(func(c *prior.Coordinate, by float64) { c.NVLink += by * unit })},
					dial{form + "." + name + " without nvlink", concerns, edit(func(c *prior.Coordinate, by float64) {
						c.Mean += by * unit
						c.NVLink -= by * unit
					})})
			}
		}
	}
	all = append(all, dial{"type", types, func(p *prior.Speed, by float64) {
		for _, m := range p.Forms {
			for k, c := range m {
				if k == "gpu_type" || k == "compute" {
					continue
				}
				c.Type = min(c.Type*math.Exp(by), c.SD)
				m[k] = c
			}
		}
	}})
	kernel := reflect.TypeFor[prior.Kernel]()
	for i := range kernel.NumField() {
		concerns := any
		switch name := kernel.Field(i).Name; {
		case name == "Layouts":
			concerns = (*split).layouts
		case strings.HasPrefix(name, "Knob"):
			concerns = knobs
		case name == "TypeShare":
			concerns = types
		case name == "SlopeServers":
			concerns = servers
		case name == "Compute" || name == "Timers":
			concerns = func(s *split) bool { return s.train[0].SyncTime > 0 }
		}
		all = append(all, dial{kernel.Field(i).Name, concerns, func(p *prior.Speed, by float64) {
			f := reflect.ValueOf(&p.Kernel).Elem().Field(i)
			if kernel.Field(i).Name == "TypeShare" { // a correlation
				o := f.Float() / (1 - f.Float()) * math.Exp(2*by)
				f.SetFloat(o / (1 + o))
				return
			}
			f.SetFloat(f.Float() * math.Exp(by))
		}})
	}
	for name, at := range map[string]func(p *prior.Speed) *float64{
		"scatter":       func(p *prior.Speed) *float64 { return &p.Scatter },
		"noise scatter": func(p *prior.Speed) *float64 { return &p.NoiseScatter },
		"knob scatter":  func(p *prior.Speed) *float64 { return &p.KnobScatter },
		"limits":        func(p *prior.Speed) *float64 { return &p.Limits },
		"tail":          func(p *prior.Speed) *float64 { return &p.Tail },
	} {
		concerns := any
		if name == "knob scatter" {
			concerns = knobs
		}
		all = append(all, dial{name, concerns, func(p *prior.Speed, by float64) { *at(p) *= math.Exp(by) }})
	}
	slices.SortFunc(all, func(a, b dial) int { return strings.Compare(a.name, b.name) })
	return all
}

// clone copies a prior.
func clone(p *prior.Speed) *prior.Speed {
	c := *p
	c.Forms = map[string]map[string]prior.Coordinate{}
	for f, m := range p.Forms {
		c.Forms[f] = maps.Clone(m)
	}
	return &c
}

// learnStages learns what says nothing of layouts from splits without them, and
// then the rest from those with them. Only numbers that concern the splits of
// which the prior is for are moved.
func learnStages(pr *prior.Speed, splits, of []split, match *regexp.Regexp, sweeps int, log func(string, ...any)) (*prior.Speed, error) {
	for _, layouts := range []bool{false, true} {
		within := slices.DeleteFunc(slices.Clone(splits), func(s split) bool { return s.layouts() != layouts })
		all := slices.DeleteFunc(dials(pr), func(d dial) bool {
			return layouts != strings.Contains(strings.ToLower(d.name), "layout") || !match.MatchString(d.name) ||
				!slices.ContainsFunc(of, func(s split) bool { return d.concerns(&s) })
		})
		var err error
		if pr, err = learn(pr, within, all, sweeps, log); err != nil {
			return nil, err
		}
	}
	return pr, nil
}

// learn moves one number after the other by steps that shrink, from values
// that say hardly more than the physics, as long as what the splits hold out
// gets likelier. Each step costs a little, so that numbers which no split
// depends on stay where they are.
//
// Only the splits that they concern are looked at.
func learn(pr *prior.Speed, splits []split, all []dial, sweeps int, log func(string, ...any)) (*prior.Speed, error) {
	l := &learner{pr: pr, log: log}
	for _, s := range splits {
		if !slices.ContainsFunc(all, func(d dial) bool { return d.concerns(&s) }) {
			continue
		}
		s.train, s.test = thin(s.train, maxTrain, 3), thin(s.test, maxTest, 4)
		l.splits = append(l.splits, s)
	}
	step := slices.Repeat([]float64{.6}, len(all))
	l.scores, l.value = make([]float64, len(l.splits)), math.Inf(-1)
	l.try(l.pr, func(*split) bool { return true }, 0)
	log("start: %.4f %s", l.value, l.byDataset())
	const cost = .0001
	for sweep := range sweeps {
		for i, d := range all {
			moved := false
			for _, sign := range []float64{1, -1} {
				for range 3 {
					p := clone(l.pr)
					d.move(p, sign*step[i])
					if !l.try(p, d.concerns, cost) {
						break
					}
					l.value += cost
					moved = true
				}
				if moved {
					break
				}
			}
			if !moved {
				step[i] /= 2
			}
		}
		log("sweep %d: %.4f %s", sweep+1, l.value, l.byDataset())
	}
	return l.pr, nil
}

// halfway returns the prior between where learning started and where it ended:
// all the way, jobs of datasets left out are predicted no better than from the
// start, and their intervals are too narrow.
func halfway(from, to *prior.Speed) *prior.Speed {
	between := func(a, b float64) float64 { return math.Sqrt(a * b) }
	p := clone(to)
	for name, m := range p.Forms {
		for k, c := range m {
			s := from.Forms[name][k]
			m[k] = prior.Coordinate{Mean: (c.Mean + s.Mean) / 2, SD: between(c.SD, s.SD),
				Type: between(c.Type, s.Type), NVLink: (c.NVLink + s.NVLink) / 2}
		}
	}
	of, start := reflect.ValueOf(&p.Kernel).Elem(), reflect.ValueOf(from.Kernel)
	for i := range of.NumField() {
		of.Field(i).SetFloat(between(of.Field(i).Float(), start.Field(i).Float()))
	}
	p.Scatter, p.NoiseScatter = between(p.Scatter, from.Scatter), between(p.NoiseScatter, from.NoiseScatter)
	p.Limits = between(p.Limits, from.Limits)
	p.KnobScatter, p.Tail = between(p.KnobScatter, from.KnobScatter), between(p.Tail, from.Tail)
	return p
}

// series is how many jobs of a dataset are worth one of others, for what they
// say of jobs: MLPerf's are all different, with few rows each.
func series(dataset string) int {
	if dataset == "mlperf" {
		return 3
	}
	return 1
}

// examplesOf picks the splits that are learned from: one of each protocol of
// each job, at most so many of a dataset and protocol.
func examplesOf(splits []split, most int) []split {
	var out []split
	seen, count := map[string]bool{}, map[string]int{}
	for _, s := range splits {
		k := s.dataset + "|" + s.name + "|" + s.protocol
		if s.dataset == "gavel" {
			k += gpuTypes(s.test)[0]
		}
		k2 := s.dataset + s.protocol
		if most := most * series(s.dataset); !seen[k] && count[k2] < most {
			seen[k] = true
			count[k2]++
			out = append(out, s)
		}
	}
	return out
}

//go:embed start.json
var startJSON []byte

// start returns the prior that learning starts from.
func start() (*prior.Speed, error) { return prior.Decode(startJSON) }
