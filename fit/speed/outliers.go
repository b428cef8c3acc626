package speed

import (
	"context"
	"fmt"
	"math"
	"slices"
	"strings"

	"gonum.org/v1/gonum/blas/blas64"
	"gonum.org/v1/gonum/mat"

	"knee/data"
	"knee/internal/gp"
	"knee/internal/quantile"
)

// A measurement is left out if its step time differs from the prediction of all
// others by this factor and by this many standard deviations of the prediction:
// a trial that swapped, shared its GPU, or was logged in another unit. Where
// nothing near was measured the standard deviation is large.
const (
	outlierFactor     = 3
	outlierDeviations = 5
	minScreen         = 5 // fewest rows to find an outlier among
)

// leftOut is the variance of ln step time added to an outlier.
const leftOut = 1e4

// screen leaves out rows that the others contradict, the worst first, at most a
// fifth of them: with more, the form is more likely wrong. A suspect is judged
// by a fit without it, since it increases the noise.
func (g *group) screen(ctx context.Context, w *gp.Factor) (*gp.Factor, error) {
	for left := len(g.rows) / minScreen; left > 0; left-- {
		worst := g.worst()
		if worst < 0 {
			return w, nil
		}
		before := *g
		g.rows = slices.Clone(g.rows)
		g.rows[worst].inflated = leftOut
		g.measure()
		err := g.prepare()
		if err == nil {
			w, err = g.begin(ctx)
		}
		if err != nil {
			return nil, err
		}
		misses, sds, err := g.leaveOneOut()
		if err != nil {
			return w, nil
		}
		miss := misses[worst]
		sd := math.Sqrt(max(sq(sds[worst])-leftOut, 0))
		if math.Abs(miss) <= math.Log(outlierFactor) || math.Abs(miss) <= outlierDeviations*sd {
			*g = before
			return g.task.whiten(g.size.Scale, g.size.Noise)
		}
		g.dropped = append(g.dropped, g.rows[worst].contradicted(miss, len(g.rows)-1, g.knobs))
		g.counts[slices.Index(g.types, g.rows[worst].GPUType)] -= int(g.rows[worst].runs)
	}
	return w, nil
}

// worst returns the row with the largest standardised leave-one-out residual
// beyond outlierFactor; −1 if none.
func (g *group) worst() int {
	misses, sds, _ := g.leaveOneOut()
	at, most := -1, 0.
	for i := range misses {
		if g.rows[i].inflated == 0 && math.Abs(misses[i]) > math.Log(outlierFactor) && math.Abs(misses[i]/sds[i]) > most {
			at, most = i, math.Abs(misses[i]/sds[i])
		}
	}
	return at
}

// screenRepeats leaves out runs that differ from the median of at least three
// of the same configuration by outlierFactor, before they are merged.
func screenRepeats(ms []data.Measurement) (kept []data.Measurement, dropped []string) {
	times := map[string][]float64{}
	for _, m := range ms {
		key := m.Key()
		times[key] = append(times[key], m.StepTime)
	}
	middle := map[string]float64{}
	for key, runs := range times {
		middle[key] = quantile.Median(runs)
	}
	for _, m := range ms {
		key := m.Key()
		runs := len(times[key])
		if off := math.Log(m.StepTime / middle[key]); runs >= 3 && math.Abs(off) > math.Log(outlierFactor) {
			dropped = append(dropped, (&row{Measurement: m}).contradicted(off, runs-1, nil))
			continue
		}
		kept = append(kept, m)
	}
	return kept, dropped
}

// contradicted returns the message for a row left out.
func (r *row) contradicted(miss float64, others int, knobs []knob) string {
	where := ""
	if r.Source.Line > 0 {
		where = fmt.Sprintf("%s:%d: ", r.Source.File, r.Source.Line)
	}
	expected := r.StepTime * math.Exp(-miss)
	s := fmt.Sprintf("%s%s takes %.3g s where the other %d measurements say %.3g s: left out", where, r.Config, r.StepTime, others, expected)
	var names []string
	for i := range knobs {
		if knobs[i].varied() {
			names = append(names, "x_"+knobs[i].name)
		}
	}
	if names != nil {
		s += "; if it is right, the effect of " + strings.Join(names, ", ") + " differs there"
	}
	return s
}

// leaveOneOut returns the leave-one-out residual of ln step time of every row,
// given the other rows and the compute times, and its standard deviation, with
// the form linearised at the mode and integrated out.
func (g *group) leaveOneOut() (miss, sd []float64, err error) {
	l, err := g.task.linearize(g.z)
	if err != nil {
		return nil, nil, err
	}
	blas64.Scal(-1, vec(l.e)) // observed minus predicted
	cov := mat.NewSymDense(len(l.e), nil)
	cov.SymOuterK(1, l.j)
	cov.AddSym(cov, g.task.covariance(g.size.Scale, g.size.Noise))
	f, err := gp.Factorize(cov)
	if err != nil {
		return nil, nil, err
	}
	miss, sd = f.LeaveOneOut(l.e)
	return miss, sd, nil
}
