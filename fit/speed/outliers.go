package speed

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"slices"
	"strings"

	"gonum.org/v1/gonum/blas/blas64"
	"gonum.org/v1/gonum/mat"

	"knee/data"
	"knee/fit/prior"
	"knee/fit/speed/form"
	"knee/internal/gp"
	"knee/internal/grouped"
	"knee/internal/quantile"
)

// A measurement is an outlier if its step time differs by this many standard
// deviations from the prediction of all others, and by a factor: a trial that
// swapped, shared its GPU, or was logged in another unit. Where nothing near was
// measured the standard deviation is large. A smaller factor may be the job's
// nature, and only gives a warning.
const (
	outlierFactor     = 3
	warnFactor        = 1.5
	outlierDeviations = 5
	minScreen         = 5 // fewest rows to find an outlier among
)

// leftOut is the variance of ln step time added to an outlier.
const leftOut = 1e4

// screen leaves out outliers, the worst first, at most a fifth of the rows: with
// more, the form is more likely wrong. A suspect is judged by a fit without it,
// since it increases the noise. A slow largest size stays where a tier of the
// network or saturated servers explain it, see [group.ofLargest], and so do a fast smallest
// size, which communicates less than the others, and one whose runs agree.
func (g *group) screen(ctx context.Context) error {
	cleared := map[int]bool{}
	for left := len(g.rows) / minScreen; left > 0; {
		worst := g.worst(cleared)
		if worst < 0 {
			return nil
		}
		before := *g
		g.rows = slices.Clone(g.rows)
		g.rows[worst].inflated = leftOut
		if err := g.refit(ctx); err != nil {
			return err
		}
		misses, sds, err := g.leaveOneOut()
		if err != nil {
			return nil
		}
		miss := misses[worst]
		sd := math.Sqrt(max(sq(sds[worst])-leftOut, 0))
		r, off := &g.rows[worst], math.Abs(miss)
		says := r.contradicted(miss, len(g.rows)-1)
		agree := r.agrees(off)
		largest := g.beyondOthers(r) && miss > 0 && miss < g.slowestTier()
		smallest := g.belowOthers(r) && miss < 0 && -miss < g.mostCommunication()
		stays := agree || largest || smallest
		if stays || off <= math.Log(outlierFactor) || off <= outlierDeviations*sd {
			*g = before
			saturated := largest && g.family == form.ServerFamily
			if cleared[worst] = true; off > outlierDeviations*sd && off > math.Log(warnFactor) && !agree && !saturated && !smallest {
				g.outliers = append(g.outliers, says+": measure it again, or remove it if the run was disturbed")
			}
			g.suspect = g.suspect || off > outlierDeviations*sd && largest
			if !stays {
				left--
			}
			continue
		}
		left--
		g.outliers = append(g.outliers, says+": left out"+unlessKnobs(g.knobs))
		g.counts[slices.Index(g.types, g.rows[worst].GPUType)] -= int(g.rows[worst].runs)
	}
	return nil
}

// beyondOthers reports whether a row, left out, has more workers than all others of
// its GPU type, or more for each server.
func (g *group) beyondOthers(r *row) bool {
	if g.family != form.ServerFamily {
		return float64(r.Workers) > g.ranges[slices.Index(g.types, r.GPUType)].Workers[1]
	}
	return !slices.ContainsFunc(g.rows, func(o row) bool {
		return o.inflated == 0 && o.GPUType == r.GPUType && o.Workers*r.PS >= r.Workers*o.PS
	})
}

// belowOthers reports whether a row, left out, has fewer workers than all others of its
// GPU type.
func (g *group) belowOthers(r *row) bool {
	return float64(r.Workers) < g.ranges[slices.Index(g.types, r.GPUType)].Workers[0]
}

// slowestTier is the largest ln of the factor that a slower tier of the network takes.
func (g *group) slowestTier() float64 { return top(g.prior.Forms["slopes"][slowerTier]) }

// mostCommunication is the largest ln of communication over computing.
func (g *group) mostCommunication() float64 {
	return top(g.prior.Forms[form.CollectiveFamily]["intra"])
}

// top is three standard deviations above the mean.
func top(p prior.Coordinate) float64 { return p.Mean + 3*p.SD }

// worst returns the row with the largest standardised leave-one-out residual
// beyond warnFactor that is not cleared; −1 if none.
func (g *group) worst(cleared map[int]bool) int {
	misses, sds, _ := g.leaveOneOut()
	at, most := -1, 0.
	for i := range misses {
		if g.rows[i].inflated == 0 && !cleared[i] && math.Abs(misses[i]) > math.Log(warnFactor) && math.Abs(misses[i]/sds[i]) > most {
			at, most = i, math.Abs(misses[i]/sds[i])
		}
	}
	return at
}

// screenRepeats leaves out runs that differ from the median of at least three
// of the same configuration by outlierFactor, before they are merged.
func screenRepeats(ms []data.Measurement) (kept []data.Measurement, outliers []string) {
	times := map[string][]float64{}
	for _, m := range ms {
		key := repeatKey(m)
		times[key] = append(times[key], m.StepTime)
	}
	middle := map[string]float64{}
	for key, runs := range times {
		middle[key] = quantile.Median(runs)
	}
	for _, m := range ms {
		key := repeatKey(m)
		runs := len(times[key])
		if off := math.Log(m.StepTime / middle[key]); runs >= 3 && math.Abs(off) > math.Log(outlierFactor) {
			outliers = append(outliers, (&row{Measurement: m}).contradicted(off, runs-1)+": left out")
			continue
		}
		kept = append(kept, m)
	}
	return kept, append(outliers, disagreements(kept)...)
}

// disagreements returns a message that names the configuration whose runs differ
// most, if any do by warnFactor and by more than their standard errors explain.
func disagreements(ms []data.Measurement) []string {
	keys, runs := grouped.By(ms, repeatKey)
	most, says, others := 0., "", -1
	for _, key := range keys {
		byTime := func(a, b data.Measurement) int { return cmp.Compare(a.StepTime, b.StepTime) }
		short, long := slices.MinFunc(runs[key], byTime), slices.MaxFunc(runs[key], byTime)
		off := math.Log(long.StepTime / short.StepTime)
		if off <= math.Log(warnFactor) || off <= outlierDeviations*math.Sqrt(relativeVariance(short)+relativeVariance(long)) {
			continue
		}
		if others++; off > most {
			most = off
			says = fmt.Sprintf("%s takes %.3g s, %.1f times %s, the same configuration: remove the run that was disturbed, or record what differs as a knob",
				cmp.Or(long.Source.String(), long.Config.String()), long.StepTime, math.Exp(off), cmp.Or(short.Source.String(), "another run"))
		}
	}
	switch {
	case others < 0:
		return nil
	case others > 0:
		says += fmt.Sprintf("; repeats of %d other configurations differ too", others)
	}
	return []string{says}
}

// agrees reports whether repeated runs lie so close together that they cannot all be
// disturbed by so much.
func (r *row) agrees(off float64) bool {
	return r.freedom > 0 && math.Sqrt(r.within/r.freedom)*outlierDeviations < off
}

// contradicted says what an outlier took and what the others predict.
func (r *row) contradicted(miss float64, others int) string {
	where := ""
	if r.Source.Line > 0 {
		where = fmt.Sprintf("%s:%d: ", r.Source.File, r.Source.Line)
	}
	return fmt.Sprintf("%s%s takes %.3g s where the other %d measurements say %.3g s", where, r.Config, r.StepTime, others, r.StepTime*math.Exp(-miss))
}

// unlessKnobs names the varied knobs, whose effect could explain an outlier.
func unlessKnobs(knobs []knob) string {
	var names []string
	for i := range knobs {
		if knobs[i].varied() {
			names = append(names, "x_"+knobs[i].name)
		}
	}
	if names == nil {
		return ""
	}
	return "; if it is right, the effect of " + strings.Join(names, ", ") + " differs there"
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
	cov.ScaleSym(sq(g.likeliest.scale), g.task.step)
	cov.SymRankK(cov, 1, l.j)
	f, err := gp.FactorizeNoisy(cov, 1, g.task.noise(g.likeliest.noise))
	if err != nil {
		return nil, nil, err
	}
	miss, sd = f.LeaveOneOut(l.e)
	return miss, sd, nil
}
