package plots

import (
	"fmt"
	"math"

	"gonum.org/v1/plot"
)

// Method is the progress of one search method in a [Comparison]: X is the
// number of evaluations, Mean the median over searches of the best value so
// far relative to the optimum (1 is the optimum), Lo and Hi their 10 and 90 %
// quantiles. +Inf says that too few searches have found anything yet.
type Method struct {
	Name     string
	Progress []Band
}

// Comparison describes how fast search methods approach the optimum.
type Comparison struct {
	Title, Subtitle string
	Value           string // what the vertical axis shows, such as "best cost so far ÷ best of the table"
	Methods         []Method
}

// comparisonTop is the largest ratio shown: how bad a search is that is worse
// than ten times the best does not matter.
const comparisonTop = 10

// NewComparison returns the figure, or an error that names the first field
// that cannot be drawn. The vertical axis is logarithmic, and cut at ten times
// the optimum. Bands are drawn for the first and the last method only, as more
// would hide one another, and users list the baseline first and what they are
// after last.
func NewComparison(s Comparison) (*Chart, error) {
	if err := s.check(); err != nil {
		return nil, err
	}
	c := newChart(s.Title, s.Subtitle, "evaluations", s.Value)
	x, y := newExtent(), newExtent()
	y.add(1, 2)
	for _, m := range s.Methods {
		for _, b := range m.Progress {
			x.add(b.X)
			y.add(math.Min(b.Hi, comparisonTop), math.Min(b.Mean, comparisonTop))
		}
	}
	extent{x.lo - 0.5, x.hi + 0.5}.set(&c.Plot.X, plot.LinearScale{}, linearTicks{want: 12, whole: true})
	extent{0.97, y.hi * 1.08}.set(&c.Plot.Y, plot.LogScale{}, decadeTicks{})
	near := guide(mutedColor, dotPattern...)
	c.add(level(near, 1.05))
	last := len(s.Methods) - 1
	for i, m := range s.Methods {
		if i == 0 || i == last {
			c.add(ribbon(cut(m.Progress, true), fade(seriesColor(i), 0.16)))
		}
	}
	for i, m := range s.Methods {
		sty := solid(seriesColor(i))
		c.addCurve(cut(m.Progress, false), sty)
		c.explain(entry{label: m.Name, line: &sty})
	}
	label := "10 to 90 % of searches"
	if last > 1 {
		label += fmt.Sprintf(", %s and %s", s.Methods[0].Name, s.Methods[last].Name)
	}
	c.explain(entry{label: label, fill: fade(mutedColor, 0.25)}, entry{label: "5 % above the best", line: &near})
	return c, nil
}

func (s Comparison) check() error {
	if err := checkName("value", s.Value); err != nil {
		return err
	}
	any := false
	for i, m := range s.Methods {
		at := fmt.Sprintf("methods[%d]", i)
		if err := checkName(at+".name", m.Name); err != nil {
			return err
		}
		for k, b := range m.Progress {
			at := fmt.Sprintf("%s.progress[%d]", at, k)
			switch {
			case math.IsNaN(b.Lo) || math.IsNaN(b.Mean) || math.IsNaN(b.Hi) || !(b.Lo > 0) || b.Lo > b.Mean || b.Mean > b.Hi:
				return bad(at, fmt.Sprintf("%s in %s to %s", show(b.Mean), show(b.Lo), show(b.Hi)), "0 < lo ≤ median ≤ hi")
			case !(b.X > 0) || k > 0 && b.X <= m.Progress[k-1].X:
				return bad(at+".x", show(b.X), "numbers of evaluations, > 0 and ascending")
			}
			any = any || b.Mean <= largest
		}
	}
	if !any {
		return bad("methods", "no search that found anything", "at least one")
	}
	return nil
}

// cut returns what of a progress lies below comparisonTop; for a band the
// upper edge is moved there, for a line the beginning is left out.
func cut(progress []Band, band bool) []Band {
	var out []Band
	for _, b := range progress {
		switch {
		case band && b.Lo <= comparisonTop:
			b.Mean, b.Hi = math.Min(b.Mean, comparisonTop), math.Min(b.Hi, comparisonTop)
		case band || b.Mean > comparisonTop:
			continue
		}
		out = append(out, b)
	}
	return out
}
