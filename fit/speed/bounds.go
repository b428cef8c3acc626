package speed

import (
	"context"
	"fmt"
	"math"
	"slices"

	"github.com/dustin/go-humanize/english"
	"gonum.org/v1/gonum/stat"
	"gonum.org/v1/gonum/stat/distuv"

	"knee/data"
	"knee/fit/speed/form"
)

// lowerBounds returns those of measurements ended by a time limit that give a lower
// bound of a step time of the group's GPU types, the longest of each configuration.
func (g *group) lowerBounds(stopped []data.Measurement) (bounds []data.Measurement) {
	at := map[string]int{}
	for _, m := range stopped {
		if g.plain {
			m.Config = plain(m.Config)
		}
		m.Mode = m.ModeOrDefault()
		key := repeatKey(m)
		if m.Mode != g.mode || !slices.Contains(g.types, m.GPUType) || checkRow(m) != nil || !m.Plain() && g.family != form.LayoutFamily {
			continue
		}
		if i, known := at[key]; !known {
			at[key] = len(bounds)
			bounds = append(bounds, m)
		} else if m.StepTime > bounds[i].StepTime {
			bounds[i] = m
		}
	}
	return bounds
}

// bound fits lower bounds that are above the median prediction, the least likely
// first: each becomes a measurement of its expectation above the bound, with the
// variance there (Schmee and Hahn, "A simple method for regression analysis with
// censored data", 1979). A bound that is less likely than a disturbed run, or of a
// configuration that was measured, is left out; so are all under published families.
func (m *Model) bound(ctx context.Context, g *group, bounds []data.Measurement, seed int64) error {
	one := &Model{job: m.job, groups: []*group{g}}
	var counted, left contradictions
	least := g.prior.Disturbed / (1 + g.prior.Disturbed)
	if !g.learned() {
		least = .5
	}
	measured := map[string]bool{}
	for i := range g.rows {
		measured[repeatKey(g.rows[i].Measurement)] = true
	}
	for len(bounds) > 0 && len(g.rows) < maxRows {
		worst, lowest := -1, .5
		var ln []float64
		var open []data.Measurement
		for _, b := range bounds {
			draws, err := one.predictive(b.Config)
			if err != nil { // a knob without a value, say
				continue
			}
			share, _, _ := above(draws, math.Log(b.StepTime))
			if share < least || measured[repeatKey(b)] {
				left.add(b, draws)
				continue
			}
			if share < lowest {
				worst, lowest, ln = len(open), share, draws
			}
			open = append(open, b)
		}
		bounds = open
		if worst < 0 {
			break
		}
		counted.add(bounds[worst], ln)
		one.stop(g, bounds[worst])
		r := row{Measurement: bounds[worst], runs: 1}
		_, mean, variance := above(ln, math.Log(r.StepTime))
		r.StepTime, r.SyncTime, r.inflated = math.Exp(mean), 0, variance
		bounds = slices.Delete(bounds, worst, worst+1)
		g.rows = append(slices.Clip(g.rows), r)
		if err := g.refit(ctx); err != nil {
			return err
		}
		if err := g.average(ctx, seed); err != nil {
			return err
		}
	}
	for _, b := range bounds { // which the predictions keep on average
		one.stop(g, b)
	}
	if counted.first != "" {
		g.outliers = append(g.outliers, fmt.Sprintf("lower bounds of %s ended by a time limit count: %s: measure it with a longer limit", english.Plural(counted.n, "measurement", ""), counted.first))
	}
	if left.first != "" {
		g.outliers = append(g.outliers, fmt.Sprintf("bounds of %s ended by a time limit are left out, as a hang would contradict the others so: %s: measure it again, with a longer limit", english.Plural(left.n, "measurement", ""), left.first))
	}
	return nil
}

// stop remembers a lower bound, below which its own configuration is not predicted.
func (m *Model) stop(g *group, b data.Measurement) {
	if _, _, c, err := m.resolve(b.Config); err == nil {
		if g.stops == nil {
			g.stops = map[string]float64{}
		}
		g.stops[stopKey(c)] = b.StepTime
	}
}

// stopKey identifies a resolved configuration of any job, with the size of its network.
func stopKey(c data.Config) string {
	c.Job = ""
	return fmt.Sprint(c.Key(), c.Architecture)
}

// contradictions are bounds far above what is predicted.
type contradictions struct {
	n     int // by warnFactor
	first string
}

func (c *contradictions) add(b data.Measurement, ln []float64) {
	predicted := math.Exp(stat.Mean(ln, nil))
	if b.StepTime <= warnFactor*predicted {
		return
	}
	if c.n++; c.n == 1 {
		c.first = fmt.Sprintf("%s takes at least %.3g s per step where the others say %.3g s", b.Config, b.StepTime, predicted)
	}
}

// above returns the share of draws above a bound, their mean and their variance.
func above(ln []float64, bound float64) (share, mean, variance float64) {
	kept := slices.DeleteFunc(slices.Clone(ln), func(v float64) bool { return v <= bound })
	mean, variance = stat.MeanVariance(kept, nil)
	return float64(len(kept)) / float64(len(ln)), mean, variance
}

// predictive returns draws of ln step time of a new run.
func (m *Model) predictive(c data.Config) ([]float64, error) {
	q, err := m.ask(c)
	if err != nil {
		return nil, err
	}
	var s sampled
	s.sample(&q, &answering{})
	s.noisy(q.g)
	for d := range s.ln {
		s.ln[d] += math.Sqrt(q.tiers) * distuv.UnitNormal.Quantile(equidistributed(d, math.E))
	}
	return s.ln, nil
}
