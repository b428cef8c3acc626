package report

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/dustin/go-humanize/english"

	"knee/data"
	"knee/plots"
	"knee/predict"
)

// Answer is what a page says first of a job: what to run, its cost and how sure it is.
type Answer struct {
	Job    string
	Choice string // such as "4 × a100, allreduce, batch 64"
	Facts  []Fact
}

// Fact is one line of an answer.
type Fact struct{ Name, Text string }

// choice is the knee of one curve.
type choice struct {
	plots.Condition
	curve []predict.Answer // workers ascending
	knee  int              // index of the knee among those within the measured range
	last  int              // index of the last within the measured range
}

// at is the configuration at the knee with what is predicted of it.
func (c choice) at() predict.Answer { return c.curve[c.knee] }

// choose finds the knee of every condition within what was measured, at the best batch, as
// knee predict does. The best comes first; its condition has the batch at the knee.
func choose(conditions []plots.Condition) ([]choice, error) {
	var all []choice
	for _, c := range conditions {
		best := c
		best.Base.LocalBatch, best.GlobalBatch = 0, 0
		curve, err := best.Answers()
		if err != nil {
			return nil, err
		}
		found := kneeOf(c, curve)
		other := func(a predict.Answer) bool { return math.Abs(a.Config.GlobalBatch()/c.GlobalBatch-1) > 1e-9 }
		if at := found.at().Config; !c.Layout && slices.ContainsFunc(curve, other) {
			found.Base.LocalBatch, found.Base.AccumSteps, found.GlobalBatch = at.LocalBatch, at.AccumSteps, 0
		}
		all = append(all, found)
	}
	slices.SortStableFunc(all, func(a, b choice) int { return cmp.Compare(b.at().Rate(), a.at().Rate()) })
	return all, nil
}

// kneeOf finds the knee within the measured range, or of all of the curve if that is empty.
func kneeOf(c plots.Condition, curve []predict.Answer) choice {
	within := predict.Inside(curve)
	index := func(i int) int {
		return slices.IndexFunc(curve, func(a predict.Answer) bool { return a.Config.Workers == within[i].Config.Workers })
	}
	found := choice{c, curve, 0, index(len(within) - 1)}
	if found.knee = found.last; !found.batchless() {
		found.knee = index(predict.Knee(within))
	}
	return found
}

// batchless reports whether only steps per second are known, which cannot be compared.
func (c choice) batchless() bool { return !(c.curve[0].Goodput.Mean > 0) }

// workers names the knee, its efficiency, and the gain predicted for the next doubling.
func (c choice) workers() string {
	k := c.at().Config.Workers
	n := english.Plural(k, "worker", "")
	if c.batchless() {
		return n + ", the most measured; the best number is not known without a batch: add a column local_batch or global_batch"
	}
	s := fmt.Sprintf("%s, the knee: %.0f %% of linear", n, c.linear())
	switch {
	case c.knee == c.last && c.at().Extrapolated:
		s = fmt.Sprintf("%s, the most of the curve, of which nothing lies within the measured range: %.0f %% of linear", n, c.linear())
	case c.knee == c.last:
		s = fmt.Sprintf("%s, the most within the measured range: %.0f %% of linear; the knee is there or beyond", n, c.linear())
	case k == 1:
		s = "1 worker: a second brings less than half its share"
	}
	if next := c.doubling(); next != "" {
		s += "; " + next
	}
	return s
}

// linear is the efficiency relative to linear scaling, in per cent.
func (c choice) linear() float64 {
	first, at := c.curve[0], c.at()
	return 100 * at.Rate() / first.Rate() * float64(first.Config.Workers) / float64(at.Config.Workers)
}

// doubling gives the gain of twice the workers; empty if the curve ends before.
func (c choice) doubling() string {
	for _, a := range c.curve {
		if a.Config.Workers != 2*c.at().Config.Workers {
			continue
		}
		rate := a.Goodput
		if !(rate.Mean > 0) {
			rate = a.StepTime.Per(1)
		}
		gain := func(v float64) float64 { return 100 * (v/c.at().Rate() - 1) }
		s := fmt.Sprintf("%d would bring %+.0f %% %s", a.Config.Workers, gain(a.Rate()), c.what())
		var notes []string
		if rate.Hi > rate.Lo {
			notes = append(notes, fmt.Sprintf("%+.0f to %+.0f %%", gain(rate.Lo), gain(rate.Hi)))
		}
		if a.Extrapolated {
			notes = append(notes, "extrapolated")
		}
		if len(notes) > 0 {
			s += " (" + strings.Join(notes, ", ") + ")"
		}
		return s
	}
	return ""
}

// fastest names the fastest measured size, if clearly faster than the knee.
func (c choice) fastest() string {
	best := c.at()
	if c.batchless() {
		return ""
	}
	for _, a := range c.curve[:c.last+1] {
		if !a.Extrapolated && a.Rate() > best.Rate() {
			best = a
		}
	}
	gain := best.Rate() / c.at().Rate()
	if gain < 1.05 {
		return ""
	}
	cost := float64(best.Config.Workers) / float64(c.at().Config.Workers) / gain
	return fmt.Sprintf("%s: %.0f %% more %s, the same work costs %.0f %% more", english.Plural(best.Config.Workers, "worker", ""), 100*(gain-1), c.what(), 100*(cost-1))
}

// what names the rate of a choice.
func (c choice) what() string {
	if slices.ContainsFunc(c.curve, func(a predict.Answer) bool { return a.Goodput.Mean < .999*a.Throughput.Mean }) {
		return "goodput" // larger batches make a sample worth less
	}
	return "speed"
}

// speed is what the choice reaches.
func (c choice) speed() string {
	at := c.at()
	switch {
	case !(at.Goodput.Mean > 0):
		return plots.Interval(at.StepTime.Per(1), plots.Plain) + " steps/s"
	case c.what() == "goodput":
		return fmt.Sprintf("goodput %s samples/s; throughput %s", plots.Interval(at.Goodput, plots.Plain), plots.Plain(at.Throughput.Mean))
	}
	return plots.Interval(at.Throughput, plots.Plain) + " samples/s"
}

// cost is that of a million samples at initial-batch worth; empty without a batch.
func (c choice) cost() string {
	at := c.at()
	if !(at.Goodput.Mean > 0) {
		return ""
	}
	work := " per million samples"
	if c.what() == "goodput" {
		work += " at the efficiency of the initial batch"
	}
	priced := c.price() > 0
	if !priced {
		work = " worker-hours" + work
	}
	return plots.Interval(c.million(priced)) + work
}

// price is that of a worker-hour in US$, 0 if it is not known.
func (c choice) price() float64 { return c.Predictor.Price[c.Base.GPUType] }

// million is the cost of a million samples, in US$ or worker-hours, and its format.
func (c choice) million(priced bool) (data.Estimate, func(float64) string) {
	hours := c.at().Goodput.Per(1e6 * float64(c.at().Config.Workers) / 3600)
	if priced {
		return hours.Scale(c.price()), plots.Money
	}
	return hours, plots.Plain
}

// batch says which batch or layout was chosen, and from what.
func (c choice) batch() string {
	at, m := c.at(), c.Predictor.Model
	if c.Layout {
		return c.layout()
	}
	if at.Config.LocalBatch == 0 {
		return "not known: no batch was recorded"
	}
	lo, hi := m.BatchRange(at.Config.GPUType, at.Config.ModeOrDefault())
	s := fmt.Sprintf("%s samples per worker", plots.Plain(at.Config.LocalBatch))
	if c.GlobalBatch > 0 {
		s = fmt.Sprintf("%s samples per step, divided among the workers", plots.Plain(c.GlobalBatch))
	} else if hi > lo {
		s += fmt.Sprintf(", of %s to %s measured", plots.Plain(lo), plots.Plain(hi))
	}
	if m.NoiseScale() == nil {
		return s + "; statistical efficiency is not known: it needs a training curve with grad_sqr and grad_var"
	}
	return s + fmt.Sprintf("; statistical efficiency %s %% of the initial batch's", plots.Interval(at.Efficiency.Scale(100), func(v float64) string { return fmt.Sprintf("%.0f", v) }))
}

// layout names the fastest layout, its memory and where its time goes.
func (c choice) layout() string {
	q := predict.LayoutQuestion{GPUType: c.Base.GPUType, Workers: c.at().Config.Workers}
	all, err := c.Predictor.Layouts(q)
	if err != nil {
		return err.Error()
	}
	best := all[0]
	s := fmt.Sprintf("%s, micro-batches of %s", c.layoutName(), plots.Plain(best.Config.LocalBatch))
	if m := best.Memory; m != nil {
		const gib = 1 << 30
		s += "; " + plots.Interval(m.Peak.Scale(1./gib), plots.Plain) + " GiB"
	}
	bubble, communication := best.Shares()
	return s + fmt.Sprintf("; the bubble takes %.0f %%, communication %.0f %%", 100*bubble, 100*communication)
}

// support says whether the choice was measured, or how far it is from measurements.
func (c choice) support() string {
	at := c.at()
	for _, m := range c.Measured() {
		if m.Workers == at.Config.Workers && m.Layout == at.Config.Layout && (!c.Layout || m.LocalBatch == at.Config.LocalBatch) {
			return fmt.Sprintf("this configuration was measured (%s a step)", plots.Duration(m.StepTime))
		}
	}
	if at.Extrapolated {
		return "this configuration is extrapolated: " + at.Why
	}
	return "this configuration was not measured, but is within the measured range"
}

// name is the configuration as the answer says it.
func (c choice) name() string {
	at := c.at().Config
	if c.Layout {
		return fmt.Sprintf("%d × %s, %s", at.Workers, at.GPUType, c.layoutName())
	}
	return at.String()
}

func (c choice) layoutName() string {
	at := c.at().Config
	return fmt.Sprintf("tp %d, pp %d, dp %d", max(at.TP, 1), max(at.PP, 1), at.Replicas())
}

// conditionTable compares the knees of all conditions of a job.
func conditionTable(all []choice) *Table {
	unit, priced := "US$", !slices.ContainsFunc(all, func(c choice) bool { return !(c.price() > 0) })
	if !priced {
		unit = "worker-hours"
	}
	rate := "goodput"
	if all[0].Predictor.Model.NoiseScale() == nil {
		rate = "throughput"
	}
	t := newTable("condition", "#workers", "#local batch", "#"+rate+" (samples/s)", "#"+unit+" per million samples", "#% of linear", "#measured up to", "twice the workers")
	for _, c := range all {
		at, most := c.at(), 0
		for _, m := range c.Predictor.Model.Measurements(c.Base.GPUType, c.Base.ModeOrDefault()) {
			most = max(most, m.Workers)
		}
		var goodput, cost Cell
		if at.Goodput.Mean > 0 {
			goodput, cost = estimate(at.Goodput, plots.Plain), estimate(c.million(priced))
		}
		kind := at.Config.Kind()
		if at.Config.PS > 0 {
			kind += fmt.Sprintf(", %d ps", at.Config.PS)
		}
		t.row(kind, at.Config.Workers, at.Config.LocalBatch, goodput, cost, math.Round(c.linear()), most, c.doubling())
	}
	return t
}
