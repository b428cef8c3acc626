package plots

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"github.com/dustin/go-humanize/english"

	"knee/data"
	"knee/internal/grouped"
	"knee/internal/list"
	"knee/predict"
)

// Scalability describes a scaling figure: a quantity against the number of
// workers, measured and predicted, with the knee of the curve.
type Scalability struct {
	Title    string // such as the job
	Subtitle string // such as GPU type and batch
	Quantity Quantity
	Series   []Series
	Ideal    bool   // draw linear scaling from the fewest workers of each series
	XLabel   string // empty: workers
	X        Scale
	Y        Scale // automatic: as X, so that ideal scaling stays a straight line
}

// NewScalability returns the figure. X, the workers, and the quantity must be positive.
func NewScalability(s Scalability) (*Chart, error) {
	if s.Quantity.label() == "" {
		return nil, bad("quantity", fmt.Sprintf("%q", string(s.Quantity)), "throughput, goodput or speed")
	}
	if err := checkSeries(s.Series, positive); err != nil {
		return nil, err
	}
	c := newChart(s.Title, s.Subtitle, cmp.Or(s.XLabel, "workers"), s.Quantity.label())
	x, y := extents(s.Series)
	logX := setX(c.Plot, x, s.X)
	log := logX
	if s.Y != AutoScale {
		log = s.Y == LogScale
	}
	setY(c.Plot, y, log, failingSeries(s.Series))
	for i, one := range s.Series {
		if x0, y0, ok := reference(one); ok && s.Ideal {
			xs, ys := idealLine(x0, y0, math.Max(x.hi, c.Plot.X.Max), log == logX)
			c.add(polyline(guide(seriesColor(i), dotPattern...), xs, ys))
		}
	}
	c.addAll(s.Series)
	if s.Ideal {
		c.explain(entry{label: "ideal linear scaling", line: guide(mutedColor, dotPattern...)})
	}
	return c, nil
}

// idealLine is linear scaling from a point to an x; two ends of a straight line are enough.
func idealLine(x0, y0, to float64, straight bool) (xs, ys []float64) {
	n := 64
	if straight {
		n = 1
	}
	for i := range n + 1 {
		x := x0 * math.Pow(to/x0, float64(i)/float64(n))
		xs, ys = append(xs, x), append(ys, y0*x/x0)
	}
	return xs, ys
}

// reference returns the mean measured at the fewest workers, else, or where the curve is of
// other layouts than those measured, the first prediction.
func reference(s Series) (x, y float64, ok bool) {
	if s.Layouts && len(s.Curve) > 0 {
		return s.Curve[0].X, s.Curve[0].Mean, true
	}
	measured := slices.DeleteFunc(slices.Clone(s.Points), func(p Point) bool { return !p.ok() })
	if sizes, at := grouped.By(measured, func(p Point) float64 { return p.X }); len(sizes) > 0 {
		x = slices.Min(sizes)
		return x, list.Sum(at[x], func(p Point) float64 { return p.Y }) / float64(len(at[x])), true
	}
	if len(s.Curve) > 0 {
		return s.Curve[0].X, s.Curve[0].Mean, true
	}
	return 0, 0, false
}

// ScalabilityOf predicts a curve for every condition, with its knee and the measurements on
// it. Curves are named by what they differ in; what they share is the subtitle. Without a
// batch the quantity is Speed, which has neither knee nor linear scaling. It fails for
// Goodput without gradient statistics.
func ScalabilityOf(all []Condition, q Quantity) (Scalability, error) {
	s := Scalability{Title: "Scalability of " + jobsOf(all), Quantity: q, Ideal: true}
	for _, c := range all {
		if q == Goodput && c.Predictor.Model.NoiseScale() == nil {
			return s, bad("goodput", "no gradient statistics", "a model fitted with a training curve that has grad_sqr and grad_var")
		}
		if c.Base.LocalBatch == 0 && c.GlobalBatch == 0 && !c.Layout {
			s.Quantity, s.Ideal = Speed, false
		}
	}
	names, shared := namesOf(all)
	s.Subtitle = shared
	for i, c := range all {
		answers, err := c.Answers()
		if err != nil {
			return s, err
		}
		series, err := seriesOf(c, answers, s.Quantity)
		if err != nil {
			return s, err
		}
		series.Name = names[i]
		s.Series = append(s.Series, series)
	}
	return s, nil
}

// jobsOf names the jobs of the conditions.
func jobsOf(all []Condition) string {
	jobs, _ := grouped.By(all, func(c Condition) string { return cmp.Or(c.Predictor.Model.Job(), "the job") })
	return english.WordSeries(jobs, "and")
}

// seriesOf is a curve with what was measured on it.
func seriesOf(c Condition, answers []predict.Answer, q Quantity) (Series, error) {
	s := Series{Layouts: c.Layout, Curve: list.Map(answers, func(a predict.Answer) Band {
		return BandOf(float64(a.Config.Workers), estimateOf(a, q), a.Extrapolated)
	})}
	shown := func(a predict.Answer) float64 { return estimateOf(a, q).Mean }
	// A curve that still rises at its end has its knee further on, if anywhere.
	if i := predict.KneeOf(answers, shown); q != Speed && i >= 0 && i < len(answers)-1 {
		s.Knee = &Knee{X: float64(answers[i].Config.Workers), Y: shown(answers[i])}
		if answers[i].Extrapolated {
			s.Knee.Note = "knee, extrapolated: " + amount(s.Knee.X, "workers")
		}
	}
	if q == Goodput { // measurements have none
		return s, nil
	}
	var err error
	s.Points, err = MeasuredPoints(c.Measured(), q)
	return s, err
}

// estimateOf is the part of an answer that a figure shows.
func estimateOf(a predict.Answer, q Quantity) data.Estimate {
	return map[Quantity]data.Estimate{Throughput: a.Throughput, Goodput: a.Goodput, Speed: a.StepTime.Per(1)}[q]
}

// NewSpeed draws the speed of a parameter-server job at one local batch: over workers at
// each measured number of ps or, overPS, the other way around (Optimus, EuroSys'18, Fig.
// 9).
func NewSpeed(c Condition, overPS bool) (*Chart, error) {
	p, base := c.Predictor, c.Base
	s := Scalability{Title: "Speed of " + cmp.Or(p.Model.Job(), "the job"), Subtitle: joinNamed([]string{base.GPUType, string(base.Mode), amount(base.LocalBatch, "samples") + " per worker"}),
		Quantity: Speed, Y: LinearScale} // a logarithm flattens the fall after the peak
	workers, servers := predict.Sizes(p.Model, base.GPUType, base.Mode)
	rows := p.Model.Measurements(base.GPUType, base.Mode)
	axes := func(c *data.Config) (moves, stays *int) { return &c.Workers, &c.PS }
	xs, fixed, unit := workers, servers, "ps"
	plural := unit
	if overPS {
		workers = slices.DeleteFunc(workers, func(k int) bool {
			return !slices.ContainsFunc(rows, func(m data.Measurement) bool { return m.Workers == k })
		})
		s.XLabel, xs, fixed, unit, plural = "parameter servers", servers, workers, "worker", "workers"
		axes = func(c *data.Config) (moves, stays *int) { return &c.PS, &c.Workers }
	}
	for _, n := range fixed {
		series := Series{Name: english.Plural(n, unit, plural)}
		for _, row := range rows {
			moves, stays := axes(&row.Config)
			if *stays != n || row.LocalBatch != base.LocalBatch {
				continue
			}
			pts, err := MeasuredPoints([]data.Measurement{row}, Speed)
			if err != nil {
				return nil, err
			}
			pts[0].X = float64(*moves)
			series.Points = append(series.Points, pts[0])
		}
		for _, x := range xs {
			at := base
			moves, stays := axes(&at)
			*moves, *stays = x, n
			a, err := p.At(at)
			if err != nil {
				return nil, err
			}
			series.Curve = append(series.Curve, BandOf(float64(x), a.StepTime.Per(1), a.Extrapolated))
		}
		s.Series = append(s.Series, series)
	}
	return NewScalability(s)
}
