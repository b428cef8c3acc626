package predict

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"slices"
	"strings"

	"knee/data"
	"knee/fit"
	"knee/internal/parallel"
)

// Gain is what one more measurement of a GPU type and mode would buy.
type Gain struct {
	Config data.Config // what to measure
	// Narrowing is the share by which the widths of the targets' 90 % intervals
	// of ln step time shrink, all added up; 0.2 means a fifth narrower.
	Narrowing float64
	Target    data.Config // whose interval narrows most
	Before    float64     // half-width of its interval relative to the prediction
	After     float64     // what is expected of it with the measurement
	Tried     int         // configurations considered
}

// String says it in words: "2 nodes × 1 a100, batch 64: would narrow the
// prediction for 16 workers from ±45 % to about ±20 %".
func (g Gain) String() string {
	return fmt.Sprintf("%s: would narrow the prediction for %s from %s to about %s",
		inNodes(g.Config), g.target(), within(g.Before), within(g.After))
}

// within writes the half-width of an interval: as a factor where it is larger
// than what it is about.
func within(half float64) string {
	if half > 1 {
		return fmt.Sprintf("a factor of %.2g", 1+half)
	}
	return fmt.Sprintf("±%.0f %%", 100*half)
}

// target names the target by what tells it from the measurement.
func (g Gain) target() string {
	s := fmt.Sprintf("%d workers", g.Target.Workers)
	if g.Target.Workers == 1 {
		s = "1 worker"
	}
	if g.Target.PS > 0 {
		s += fmt.Sprintf(" with %d ps", g.Target.PS)
	}
	sameGlobal := math.Abs(g.Target.GlobalBatch()-g.Config.GlobalBatch()) < 1e-6
	if b := g.Target.LocalBatch; b > 0 && b != g.Config.LocalBatch && !sameGlobal {
		s += fmt.Sprintf(" at batch %.6g", b)
	}
	return s
}

// inNodes writes a configuration with its workers per node: "2 nodes × 1
// a100, batch 64". A share of a fixed global batch that is no whole number of
// samples is written as that batch, which is what a user sets.
func inNodes(c data.Config) string {
	global := ""
	if c.LocalBatch != math.Trunc(c.LocalBatch) {
		global = fmt.Sprintf(", global batch %.6g", c.GlobalBatch())
		c.LocalBatch = 0
	}
	n := c.NodeCount()
	if n < 2 || c.Workers%n != 0 {
		return c.String() + global
	}
	per := c
	per.Workers, per.Nodes, per.Placement = c.Workers/n, 0, nil
	return fmt.Sprintf("%d nodes × %s%s", n, strings.Replace(per.String(), " × ", " ", 1), global)
}

// leastNarrowing is the narrowing below which a measurement is not worth
// naming: an interval of ±20 % would become one of ±19.6 %.
const leastNarrowing = .02

// clearlyMore is how many times the narrowing of the cheapest measurement
// one that occupies more workers has to have to be named beside it.
const clearlyMore = 1.2

// Gains returns, for every GPU type and mode of the model, the measurement
// that narrows the model's predictions most per worker it occupies, and the
// one that narrows them most of all if that is clearly more; all in the order
// of their narrowing per worker. Pairs for which none of those considered
// narrows them noticeably, by a fiftieth, are left out.
//
// The measurements considered are those a user would think of next: twice
// the workers, a second node, a single worker, the counts between, half and
// twice the batch, more and fewer ps. For each, the model's own prediction is
// added to its measurements as if it had been measured, the form is fitted
// again, and the intervals of the targets are compared with those of the same
// fit without it:
// worker counts from 1 to twice the most measured, in doublings, at the batch
// measured most. It is the expected reduction of the posterior's spread,
// with the outcome replaced by its mean (as in Chaloner and Verdinelli,
// "Bayesian Experimental Design: A Review", 1995, section 2.2, a point
// estimate in place of the average over outcomes).
//
// Settings are those the model was fitted with. It fails with the error of
// ctx or of a fit.
func Gains(ctx context.Context, m *fit.Model, s fit.Settings) ([]Gain, error) {
	var gains []Gain
	s.Screened = true // the rows that the model keeps
	for _, gpu := range m.GPUTypes() {
		for _, mode := range m.Modes(gpu) {
			q := gainQuestion{settings: s, rows: rowsOf(m, mode), kind: kind{gpu, mode}, job: m.Job()}
			g, err := q.answer(ctx)
			if err != nil {
				return nil, fmt.Errorf("what one more measurement of %s would buy: %w", data.Config{GPUType: gpu, Mode: mode}.Kind(), err)
			}
			gains = append(gains, g...)
		}
	}
	slices.SortStableFunc(gains, func(a, b Gain) int {
		return -cmp.Compare(a.perWorker(), b.perWorker())
	})
	return gains, nil
}

// rowsOf returns the measurements the model keeps in a mode, of all GPU
// types: what a fit may share between them it shares here too.
func rowsOf(m *fit.Model, mode data.Mode) []data.Measurement {
	var rows []data.Measurement
	for _, gpu := range m.GPUTypes() {
		for _, r := range m.Measurements(gpu, mode) {
			r.Job, r.GPUType, r.Mode, r.Status = m.Job(), gpu, mode, data.OK
			rows = append(rows, r)
		}
	}
	return rows
}

// gainQuestion asks what to measure next of one GPU type and mode.
type gainQuestion struct {
	settings fit.Settings
	rows     []data.Measurement
	kind     kind
	job      string
}

// answer returns what is worth measuring, one or two of those considered.
func (q gainQuestion) answer(ctx context.Context) ([]Gain, error) {
	now, err := fit.FitContext(ctx, q.rows, q.settings)
	if err != nil {
		return nil, err
	}
	var own []data.Measurement
	for _, r := range q.rows {
		if r.GPUType == q.kind.gpuType {
			own = append(own, r)
		}
	}
	candidates, targets := nextConfigs(own), targetConfigs(own)
	q.settings.Like = now.Model
	alone, err := fit.FitContext(ctx, q.rows, q.settings)
	if err != nil {
		return nil, err
	}
	before, err := widths(alone, targets)
	if err != nil {
		return nil, err
	}
	gains := make([]Gain, len(candidates))
	err = parallel.Each(len(candidates), 1, func() func(i int) error {
		return func(i int) error {
			after, err := q.with(ctx, now, candidates[i], targets)
			if err == nil {
				gains[i] = compare(candidates[i], targets, before, after)
				gains[i].Tried = len(candidates)
			}
			return err
		}
	})
	if err != nil {
		return nil, err
	}
	return worthNaming(gains), nil
}

// worthNaming returns the gain that is largest per worker and the one that is
// largest, if they are noticeable and differ. Of equals the first counts.
func worthNaming(gains []Gain) []Gain {
	gains = slices.DeleteFunc(slices.Clone(gains), func(g Gain) bool { return !(g.Narrowing >= leastNarrowing) })
	if len(gains) == 0 {
		return nil
	}
	cheap := slices.MaxFunc(gains, func(a, b Gain) int { return cmp.Compare(a.perWorker(), b.perWorker()) })
	large := slices.MaxFunc(gains, func(a, b Gain) int { return cmp.Compare(a.Narrowing, b.Narrowing) })
	if large.Narrowing < clearlyMore*cheap.Narrowing {
		return []Gain{cheap}
	}
	return []Gain{cheap, large}
}

// perWorker is the narrowing for each worker that the measurement occupies.
func (g Gain) perWorker() float64 { return g.Narrowing / float64(g.Config.Workers) }

// with returns the intervals of the targets once a configuration has been
// measured as it is predicted now.
func (q gainQuestion) with(ctx context.Context, now *fit.Model, c data.Config, targets []data.Config) ([]data.Estimate, error) {
	p, err := now.Predict(c)
	if err != nil {
		return nil, err
	}
	rows := append(slices.Clone(q.rows), data.Measurement{Config: c, StepTime: p.StepTime.Mean, Status: data.OK})
	then, err := fit.FitContext(ctx, rows, q.settings)
	if err != nil {
		return nil, err
	}
	return widths(then, targets)
}

// widths returns the predictions of the targets.
func widths(m *fit.Model, targets []data.Config) ([]data.Estimate, error) {
	all := make([]data.Estimate, len(targets))
	for i, t := range targets {
		p, err := m.Predict(t)
		if err != nil {
			return nil, err
		}
		all[i] = p.StepTime
	}
	return all, nil
}

// compare sums up what a measurement changes.
func compare(c data.Config, targets []data.Config, before, after []data.Estimate) Gain {
	g := Gain{Config: c}
	most, total := math.Inf(-1), 0.
	for i := range targets {
		was, is := math.Log(before[i].Hi/before[i].Lo), math.Log(after[i].Hi/after[i].Lo)
		g.Narrowing += was - is
		total += was
		// The target named is the one whose interval loses most, not the one
		// that loses the largest share of a narrow one.
		if d := was - is; d > most {
			most = d
			g.Target, g.Before, g.After = targets[i], halfWidth(before[i]), halfWidth(after[i])
		}
	}
	g.Narrowing /= total
	return g
}
