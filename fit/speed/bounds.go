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
		if m.ModeOrDefault() != g.mode || !slices.Contains(g.types, m.GPUType) || checkRow(m) != nil {
			continue
		}
		if !m.Plain() && g.family != form.LayoutFamily {
			continue
		}
		key := repeatKey(m)
		if i, known := at[key]; !known {
			at[key] = len(bounds)
			bounds = append(bounds, m)
		} else if m.StepTime > bounds[i].StepTime {
			bounds[i] = m
		}
	}
	return bounds
}

// bound fits lower bounds that the model contradicts, the one it misses most
// first. Each becomes a row of the step time and variance with which the mean and
// variance of the prediction become those of the prediction above the bound
// (Minka, "Expectation Propagation for Approximate Bayesian Inference", 2001). A
// bound below the median prediction says little and is left out.
func (m *Model) bound(ctx context.Context, g *group, bounds []data.Measurement, seed int64) error {
	one, counted, first := &Model{job: m.job, groups: []*group{g}}, 0, ""
	for len(bounds) > 0 && len(g.rows) < maxRows {
		worst, most := -1, 0.
		var mean, sd float64
		for i, b := range bounds {
			ln, err := one.predictive(b.Config)
			if err != nil { // a knob without a value, say
				continue
			}
			if mu, s := stat.MeanStdDev(ln, nil); (math.Log(b.StepTime)-mu)/s > most {
				worst, most, mean, sd = i, (math.Log(b.StepTime)-mu)/s, mu, s
			}
		}
		if worst < 0 {
			break
		}
		if counted++; counted == 1 && math.Log(bounds[worst].StepTime)-mean > max(sd, math.Log(warnFactor)) {
			first = fmt.Sprintf("%s takes at least %.3g s per step where the others say %.3g s: measure it with a longer limit", bounds[worst].Config, bounds[worst].StepTime, math.Exp(mean))
		}
		r := row{Measurement: bounds[worst], runs: 1}
		by, variance := site(most, sd)
		r.StepTime, r.SyncTime, r.Mode, r.inflated = math.Exp(mean+by), 0, g.mode, variance
		bounds = slices.Delete(bounds, worst, worst+1)
		g.rows = append(slices.Clip(g.rows), r)
		g.measure()
		err := g.prepare()
		if err == nil {
			err = g.begin(ctx)
		}
		if err == nil {
			err = g.average(ctx, seed)
		}
		if err != nil {
			return err
		}
	}
	if first != "" {
		g.outliers = append(g.outliers, fmt.Sprintf("lower bounds of %s with status timeout count; %s", english.Plural(counted, "measurement", ""), first))
	}
	return nil
}

// site returns the distance from its mean, and the variance beside noise, of an
// observation after which a normal variable with noise has the mean and variance
// that it has above a bound, that many standard deviations sd from its mean.
func site(deviations, sd float64) (by, variance float64) {
	const surest = 30 // beyond, the tail is below any number
	if deviations > surest {
		sd, deviations = sd*deviations/surest, surest
	}
	hazard := distuv.UnitNormal.Prob(deviations) / distuv.UnitNormal.CDF(-deviations)
	return sd / (hazard - deviations), sq(sd) * (1/(hazard*(hazard-deviations)) - 1)
}

// predictive returns draws of ln step time of a new run.
func (m *Model) predictive(c data.Config) ([]float64, error) {
	q, err := m.ask(c)
	if err != nil {
		return nil, err
	}
	var s sampled
	s.sample(&q, &answering{})
	return s.noisy(q.g), nil
}
