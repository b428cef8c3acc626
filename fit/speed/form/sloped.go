package form

import (
	"math"
	"slices"
	"strings"
)

// Feature is a variable of which a power of e multiplies the step, or communication alone.
type Feature struct {
	Name  string // name of its slope
	Links bool   // of communication alone
	At    func(p *Point) float64
}

// sloped is a form times exp(Σ slope·feature), with another such factor on communication.
type sloped struct {
	base     Form
	n        int // parameters of base
	features []Feature
	links    int // parameter of base that multiplies communication; −1 if it has none
}

// NewSloped returns base with slopes; of communication only if base has it.
func NewSloped(base Form, features []Feature) Form {
	f := &sloped{base: base, n: len(base.Names()), links: slices.IndexFunc(base.Names(), func(n string) bool { return n == "intra" || n == "transfer" })}
	for _, g := range features {
		if !g.Links || f.links >= 0 {
			f.features = append(f.features, g)
		}
	}
	return f
}

func (f *sloped) Names() []string {
	names := f.base.Names()
	for _, g := range f.features {
		names = append(names, g.Name)
	}
	return names
}

func (f *sloped) Starts() []map[string]float64 { return f.base.Starts() }

func (f *sloped) Bind(x []float64) Curve {
	return &slopedCurve{f.base.Bind(x[:f.n]).(Fitted), x[f.n:], f}
}

func (f *sloped) Gradient(x []float64) func(p *Point, step, compute []float64) {
	base := f.base.Gradient(x[:f.n])
	return func(p *Point, step, compute []float64) {
		at, factors := *p, f.factors(p)
		_, at.LnLinks = f.effects(x[f.n:], factors)
		base(&at, step[:f.n], compute[:f.n])
		for i, v := range factors {
			if f.features[i].Links {
				step[f.n+i] = step[f.links] * v
			} else {
				step[f.n+i], compute[f.n+i] = v, v
			}
		}
	}
}

// slopedCurve is a sloped form with its parameters filled in.
type slopedCurve struct {
	Fitted
	slopes []float64
	form   *sloped
}

// factors returns the features of a point.
func (f *sloped) factors(p *Point) []float64 {
	x := make([]float64, len(f.features))
	for i, g := range f.features {
		x[i] = g.At(p)
	}
	return x
}

// effects returns ln of the factors on the step and on communication alone.
func (f *sloped) effects(slopes, factors []float64) (step, links float64) {
	for i, s := range slopes {
		if f.features[i].Links {
			links += s * factors[i]
		} else {
			step += s * factors[i]
		}
	}
	return step, links
}

func (c *slopedCurve) LogTimes(p *Point) (step, compute float64) {
	ln, links := c.form.effects(c.slopes, c.form.factors(p))
	if links != 0 {
		at := *p
		at.LnLinks += links
		p = &at
	}
	step, compute = c.Fitted.LogTimes(p)
	ln += p.LnStep
	return step + ln, compute + ln
}

// TypeFactor names the slope for the speed of a GPU type, ln of a factor on all times.
const TypeFactor = "gpu_type"

// Params implements [Fitted]. Times are those of the GPU type.
func (c *slopedCurve) Params() []Param {
	ps, slower := c.Fitted.Params(), 1.
	n := len(ps)
	for i, g := range c.form.features {
		if g.Name == TypeFactor {
			slower = math.Exp(c.slopes[i])
			continue
		}
		ps = append(ps, param(g.Name, "", c.slopes[i]))
	}
	for i := range ps[:n] {
		if strings.HasPrefix(ps[i].Unit, "s") {
			ps[i].Value = ps[i].Value.Scale(slower)
		}
	}
	return ps
}
