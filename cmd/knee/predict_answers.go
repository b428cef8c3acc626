package main

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"

	"github.com/dustin/go-humanize/english"

	"knee/data"
	"knee/fit"
	"knee/internal/grouped"
	"knee/predict"
)

// answerRow is an answer in JSON, with what follows from it.
type answerRow struct {
	predict.Answer
	GlobalBatch float64       `json:"global_batch,omitempty"`
	GPUHours    data.Estimate `json:"gpu_hours_to_target,omitzero"`
	PeakMemory  data.Estimate `json:"peak_memory_bytes,omitzero"`
	GPUMemory   float64       `json:"gpu_memory_bytes,omitempty"`
	PFits       *float64      `json:"p_fits,omitempty"`
}

func rowsOf(answers []predict.Answer) []answerRow {
	rows := make([]answerRow, len(answers))
	for i, p := range answers {
		rows[i] = answerRow{Answer: p, GlobalBatch: p.Config.GlobalBatch(), GPUHours: predict.GPUHours(p), PFits: p.Fits()}
		if m := p.Memory; m != nil {
			if rows[i].PeakMemory = m.Peak; rows[i].PFits != nil {
				rows[i].GPUMemory = m.Capacity
			}
		}
	}
	return rows
}

// printAnswers prints answers, and warns if configurations may run out of memory.
func (a *app) printAnswers(m *fit.Model, answers []predict.Answer, f predictFlags, out format) error {
	a.warnUnfit(answers)
	t := answerCSV(answers, hasLayouts(m))
	t.people = answersForPeople(answers, f, hasLayouts(m))
	return out.print(a.stdout, rowsOf(answers), t)
}

func (a *app) warnUnfit(answers []predict.Answer) {
	unfit := slices.DeleteFunc(slices.Clone(answers), func(p predict.Answer) bool { return p.Unfit() == "" })
	if n := len(unfit); n > 0 {
		a.warn(fmt.Sprintf("%d of %s may run out of memory (!, fits below %g): the first, %s, %s",
			n, english.Plural(len(answers), "configuration", ""), predict.LeastFits, unfit[0].Config, unfit[0].Unfit()))
	}
}

// answersForPeople is the table for a terminal: with a goal, time and cost to it replace
// the speed; the knobs outside the measured range are named. layouts adds a column.
func answersForPeople(answers []predict.Answer, f predictFlags, layouts bool) *table {
	goal := slices.ContainsFunc(answers, func(p predict.Answer) bool { return p.TimeToTarget.Mean > 0 })
	t := newTable("workers,batch,step_time,samples/s,goodput,memory,fits,extrap.")
	if goal {
		t = newTable("workers,batch,step_time,goodput,time_to_target,cost,memory,fits,extrap.")
	}
	if f.accumulation {
		t.columns = slices.Insert(t.columns, 2, "global_batch")
	}
	if layouts {
		t.columns = slices.Insert(t.columns, 1, "layout")
	}
	for _, p := range answers {
		workers := fmt.Sprint(p.Config.Workers)
		if len(p.Config.Placement) > 1 {
			workers = p.Config.Placement.String()
		}
		batch := number(p.Config.LocalBatch)
		if p.Config.LocalBatch == 0 {
			batch = "–" // not known
		}
		if f.accumulation || p.Config.AccumSteps > 0 {
			batch += fmt.Sprintf(" ×%d", p.Config.AccumSteps+1)
		}
		cells := []any{workers, batch, between(p.StepTime, seconds), between(p.Throughput, number), between(p.Goodput, number)}
		if goal {
			cells = []any{workers, batch, seconds(p.StepTime.Mean), number(p.Goodput.Mean), between(p.TimeToTarget, seconds), costWords(p)}
		}
		if f.accumulation {
			cells = slices.Insert(cells, 2, any(number(p.Config.GlobalBatch())))
		}
		if layouts {
			cells = slices.Insert(cells, 1, any(layoutWords(p.Config, "")))
		}
		t.addUnder(kindWords(p.Config), append(cells, memoryWords(p), fitsWords(p), beyond(p))...)
	}
	return t
}

// costWords is the cost to the goal, without a price in GPU-hours.
func costWords(p predict.Answer) string {
	if p.CostToTarget.Mean > 0 {
		return between(p.CostToTarget, dollars)
	}
	return between(predict.GPUHours(p), number) + " GPU-h"
}

// kindWords names what the configurations of a curve share.
func kindWords(c data.Config) string {
	words := c.Kind()
	if c.PS > 0 {
		words += fmt.Sprintf(", %d ps", c.PS)
	}
	for _, name := range slices.Sorted(maps.Keys(c.Extra)) {
		words += fmt.Sprintf(", %s %s", name, c.Extra[name])
	}
	return words
}

// beyond names the extrapolated knobs: the first word of each part of the reason.
func beyond(p predict.Answer) string {
	if !p.Extrapolated {
		return ""
	}
	var knobs []string
	for part := range strings.SplitSeq(p.Why, "; ") {
		if knob, _, _ := strings.Cut(part, " "); !slices.Contains(knobs, knob) {
			knobs = append(knobs, knob)
		}
	}
	return strings.Join(knobs, ", ")
}

// nodesOf is a cell, empty if nodes were never measured.
func nodesOf(c data.Config) any {
	if c.Workers > 1 && c.Nodes == 0 && len(c.Placement) == 0 {
		return nil
	}
	return c.NodeCount()
}

func answerCSV(answers []predict.Answer, layouts bool) *table {
	t := newTable("job,gpu_type,mode,placement,nodes,workers,ps,local_batch,accum_steps,step_time_s,step_time_lo_s,step_time_hi_s," +
		"throughput,goodput,time_to_target_s,cost_to_target_usd,extrapolated,support,global_batch,gpu_hours_to_target")
	var configs []data.Config
	for _, p := range answers {
		c := p.Config
		t.add(c.Job, c.GPUType, c.ModeOrDefault(), c.Placement, nodesOf(c), c.Workers, c.PS,
			c.LocalBatch, c.AccumSteps, orEmpty(p.StepTime.Mean), orEmpty(p.StepTime.Lo), orEmpty(p.StepTime.Hi),
			p.Throughput.Mean, p.Goodput.Mean, orEmpty(p.TimeToTarget.Mean), orEmpty(p.CostToTarget.Mean), p.Extrapolated, p.Support,
			c.GlobalBatch(), orEmpty(predict.GPUHours(p).Mean))
		configs = append(configs, c)
	}
	rows := rowsOf(answers)
	t.addInterval("throughput", "", func(i int) data.Estimate { return answers[i].Throughput })
	t.addInterval("goodput", "", func(i int) data.Estimate { return answers[i].Goodput })
	t.addInterval("time_to_target", "_s", func(i int) data.Estimate { return answers[i].TimeToTarget })
	t.addInterval("cost_to_target", "_usd", func(i int) data.Estimate { return answers[i].CostToTarget })
	t.addInterval("gpu_hours_to_target", "", func(i int) data.Estimate { return rows[i].GPUHours })
	t.addColumn("p_reach", func(i int) any { return orEmpty(answers[i].Chance) })
	t.addColumn("peak_memory_bytes", func(i int) any { return orEmpty(math.Round(rows[i].PeakMemory.Mean)) })
	t.addInterval("peak_memory", "_bytes", func(i int) data.Estimate { return rows[i].PeakMemory })
	t.addColumn("p_fits", func(i int) any { return orNil(rows[i].PFits) })
	t.addKnobs(configs, layouts)
	return t
}

// addKnobs adds columns of layouts, if wanted, and of knobs, by row.
func (t *table) addKnobs(configs []data.Config, layouts bool) {
	if layouts {
		for _, name := range data.LayoutNames() {
			t.addColumn(name, func(i int) any { return configs[i].Get(name) })
		}
	}
	knobs := map[string]string{}
	for _, c := range configs {
		maps.Copy(knobs, c.Extra)
	}
	for _, name := range slices.Sorted(maps.Keys(knobs)) {
		t.addColumn("x_"+name, func(i int) any { return configs[i].Extra[name] })
	}
}

type layoutRow struct {
	answerRow
	Relative      float64 `json:"relative_time,omitempty"` // to the first, if no time was measured
	Bubble        float64 `json:"bubble_share"`
	Communication float64 `json:"communication_share"`
	Loses         string  `json:"loses,omitempty"`
}

// layouts reports whether they are asked for: --best, or a sweep of a model with some.
func (f *predictFlags) layouts(m *fit.Model) bool {
	if f.best || f.at != "" || f.whatIf != nil || f.deadline != "" || f.budget > 0 || f.localBatch > 0 || f.mode.UsesPS() {
		return f.best
	}
	gpu := cmp.Or(f.gpuType, m.GPUTypes()[0])
	if m.Layouts(gpu) == nil {
		return false
	}
	if f.top = 1; f.workers == "" {
		f.workers = strings.Trim(strings.ReplaceAll(fmt.Sprint(predict.LayoutSizes(m.Layouts(gpu))), " ", ","), "[]")
	}
	return true
}

// hasLayouts reports whether layouts were measured on any GPU type.
func hasLayouts(m *fit.Model) bool {
	return slices.ContainsFunc(m.GPUTypes(), func(gpu string) bool { return m.Layouts(gpu) != nil })
}

// predictLayouts lists the fastest layouts that fit, for every number of workers.
func (a *app) predictLayouts(p *predict.Predictor, f predictFlags, out format) error {
	if f.workers == "" {
		return usageError("--best: want --workers, the GPUs to spread the model over")
	}
	measured := p.Model.GPUTypes()
	if f.gpuType == "" && len(measured) > 1 {
		return usageError("--gpu-type: want one of %v", measured)
	}
	gpu := cmp.Or(f.gpuType, measured[0])
	order := "layouts that fit with a probability of .9, in the order of P(fits) / expected step time"
	switch m := p.Model.Memory(); {
	case m != nil && math.IsInf(m.Capacity(gpu), 1):
		order = "layouts in the order of the expected step time, without those that need as much as what ran out of memory; how much " + cmp.Or(gpu, "the GPU") + " has is not known: add gpu_memory_bytes to the measurements"
	case m == nil:
		order = "layouts in the order of the expected step time"
		a.note("memory is not known, so every layout counts as fitting; add peak_memory_bytes to the measurements, or the size of the model")
	}
	size, varies := p.Model.Architecture(), []string(nil)
	for _, name := range data.ArchitectureNames() {
		if slices.ContainsFunc(p.Model.Layouts(gpu), func(m data.Measurement) bool { return m.Architecture.Column(name) != size.Column(name) }) {
			varies = append(varies, name+" "+size.Column(name))
		}
	}
	if varies != nil && f.size == "" {
		a.note("of several sizes measured, for %s; --model asks for another", strings.Join(varies, ", "))
	}
	columns, speed := "step_time,samples/s", func(l, _ predict.LayoutAnswer) []any {
		return []any{between(l.StepTime, seconds), between(l.Throughput, number)}
	}
	if p.Goal != (predict.Goal{}) {
		columns, speed = "step_time,time_to_target,cost", func(l, _ predict.LayoutAnswer) []any {
			return []any{seconds(l.StepTime.Mean), between(l.TimeToTarget, seconds), costWords(l.Answer)}
		}
	}
	if f.best {
		a.note("%s; this mean exceeds the median, step_time, where slow ones are possible", order)
	}
	return a.listLayouts(f, out, columns, speed, func(k int) ([]predict.LayoutAnswer, error) {
		all, err := p.Layouts(predict.LayoutQuestion{GPUType: gpu, Workers: k, GlobalBatch: f.globalBatch, PerNode: f.perNode})
		if len(all) > 1 && f.best && all[0].StepTime.Hi > all[1].StepTime.Lo {
			overlapping := slices.DeleteFunc(slices.Clone(all), func(l predict.LayoutAnswer) bool { return l.StepTime.Lo >= all[0].StepTime.Hi })
			a.note("%s: the intervals of the first %d layouts overlap; measure them to decide", english.Plural(k, "worker", ""), len(overlapping))
		}
		return all, err
	})
}

// predictMemory answers from the size of a model alone: which layouts fit.
func (a *app) predictMemory(arch data.Architecture, f predictFlags, out format) error {
	if f.workers == "" || f.gpuType == "" {
		return usageError("without MODEL.json: want --workers and --gpu-type, besides --model, to say what fits")
	}
	if _, ok := data.FindGPU(f.gpuType); !ok {
		return &data.UnknownError{What: "GPU type", Name: f.gpuType, Known: data.GPUNames()}
	}
	const usual = 512
	f.perNode = cmp.Or(f.perNode, 8)
	batch := fmt.Sprintf("%g samples per step", f.globalBatch)
	if f.globalBatch == 0 {
		batch = fmt.Sprintf("%d samples per step, or the next multiple of the workers", usual)
	}
	a.note("computed from the size of the model alone, at %s, on nodes of %d; nothing was measured. Memory spans the frameworks; the first has the most P(fits) / time, as expected from other jobs. Measure the first ones, with peak_memory_bytes, to know more", batch, f.perNode)
	relative := func(l, best predict.LayoutAnswer) []any { return []any{fmt.Sprintf("%.2f", l.Expected/best.Expected)} }
	return a.listLayouts(f, out, "relative time", relative, func(k int) ([]predict.LayoutAnswer, error) {
		return predict.UnmeasuredLayouts(arch, f.gpuType, k, min(f.perNode, k), cmp.Or(f.globalBatch, math.Ceil(usual/float64(k))*float64(k)))
	})
}

// listLayouts lists the first layouts of every size; it fails if there is none.
func (a *app) listLayouts(f predictFlags, out format, columns string, speed func(l, best predict.LayoutAnswer) []any, layouts func(k int) ([]predict.LayoutAnswer, error)) error {
	workers, err := counts("workers", f.workers)
	if err != nil {
		return err
	}
	mayFit, unfit := false, ""
	people := newTable("workers,layout," + columns + ",memory,fits,bubble,communication,loses by,extrap.")
	var answers []predict.Answer
	var rows []layoutRow
	for _, k := range workers {
		var all []predict.LayoutAnswer
		if all, err = layouts(k); err != nil && len(workers) > 1 {
			a.note("%s: %v", english.Plural(k, "worker", ""), err)
		}
		for _, l := range all[:min(f.top, len(all))] {
			const shown = .005 // as 0.01
			fits := l.Fits()
			if mayFit = mayFit || fits == nil || *fits >= shown; !mayFit {
				unfit = fmt.Sprintf("%s, %s", l.Config, l.Unfit())
			}
			bubble, communication := l.Shares()
			rest := []any{memoryWords(l.Answer), fitsWords(l.Answer), part(bubble), part(communication), l.Loses, beyond(l.Answer)}
			answers = append(answers, l.Answer)
			people.add(slices.Concat([]any{k, layoutWords(l.Config, fmt.Sprintf(", micro-batch %s × %d", number(l.Config.LocalBatch), l.Config.AccumSteps+1))}, speed(l, all[0]), rest)...)
			row := layoutRow{rowsOf([]predict.Answer{l.Answer})[0], 0, bubble, communication, l.Loses}
			if l.StepTime.Mean == 0 {
				row.Relative = l.Expected / all[0].Expected
			}
			rows = append(rows, row)
		}
	}
	if len(rows) == 0 {
		return err
	}
	t := answerCSV(answers, true)
	t.addColumn("bubble_share", func(i int) any { return rows[i].Bubble })
	t.addColumn("communication_share", func(i int) any { return rows[i].Communication })
	t.addColumn("relative_time", func(i int) any { return orEmpty(rows[i].Relative) })
	t.addColumn("loses", func(i int) any { return rows[i].Loses })
	t.people = people
	if err := out.print(a.stdout, rows, t); err != nil || mayFit {
		return err
	}
	return exitError{errors.New("none of these layouts fits in memory: " + unfit), exitInfeasible}
}

// layoutWords names a layout, with more after the degrees.
func layoutWords(c data.Config, more string) string {
	words := fmt.Sprintf("tp %d, pp %d, dp %d%s", max(c.TP, 1), max(c.PP, 1), c.Replicas(), more)
	rest := c.Layout
	rest.TP, rest.PP = 0, 0
	if s := rest.String(); s != "" {
		words += ", " + s
	}
	return words
}

func memoryWords(p predict.Answer) string {
	if p.Memory == nil {
		return ""
	}
	return between(p.Memory.Peak.Scale(1./(1<<30)), number) + " GiB"
}

func fitsWords(p predict.Answer) string {
	fits := p.Fits()
	if fits == nil {
		return ""
	}
	return fmt.Sprintf("%.2f%s", *fits, map[bool]string{true: " !"}[p.Unfit() != ""])
}

// knobFlag collects --knob NAME=VALUE,VALUE, which may be given several times.
type knobFlag map[string][]string

func (k knobFlag) set(text string) error {
	name, values, ok := strings.Cut(text, "=")
	name = strings.TrimPrefix(strings.TrimSpace(name), "x_")
	if !ok || name == "" || values == "" {
		return fmt.Errorf("want NAME=VALUE,VALUE, such as width=96,128")
	}
	for v := range strings.SplitSeq(values, ",") {
		k[name] = append(k[name], strings.TrimSpace(v))
	}
	return nil
}

func knobsOf(m *fit.Model) []string {
	known := map[string]bool{}
	for _, gpu := range m.GPUTypes() {
		for _, mode := range m.Modes(gpu) {
			for _, knob := range m.Knobs(gpu, mode) {
				known[knob.Name] = true
			}
		}
	}
	return slices.Sorted(maps.Keys(known))
}

func (k knobFlag) check(m *fit.Model) error {
	known := knobsOf(m)
	for name := range k {
		switch {
		case len(known) == 0:
			return usageError("--knob %s: the model has no knobs; measurements have them in columns x_NAME", name)
		case !slices.Contains(known, name):
			return usageError("--knob %s: want one of the model's knobs: %s", name, strings.Join(known, ", "))
		}
	}
	return nil
}

// settings are the combinations of the knobs' values; an empty one without knobs.
func (k knobFlag) settings() []map[string]string {
	all := []map[string]string{nil}
	for _, name := range slices.Sorted(maps.Keys(k)) {
		var next []map[string]string
		for _, s := range all {
			for _, v := range k[name] {
				with := map[string]string{name: v}
				maps.Copy(with, s)
				next = append(next, with)
			}
		}
		all = next
	}
	return all
}

func (a *app) whatIf(p *predict.Predictor, f predictFlags, configs []data.Config, out format) error {
	curves, err := predict.Sweeps(p, configs)
	if err != nil {
		return err
	}
	answers := slices.Concat(curves...)
	a.warnUnfit(answers)
	type kind struct {
		gpuType string
		mode    data.Mode
	}
	kinds, of := grouped.By(answers, func(a predict.Answer) kind { return kind{a.Config.GPUType, a.Config.ModeOrDefault()} })
	var rows []predict.Changed
	answers = nil
	for _, k := range kinds { // each has the changes of its form
		m := onlyOf(p.Model, k.gpuType, k.mode)
		changed, err := predict.Change(m, strings.Join(f.whatIf, ","))
		if err != nil {
			return err
		}
		some, err := predict.WhatIf(m, changed, of[k])
		if err != nil {
			return err
		}
		rows, answers = append(rows, some...), append(answers, of[k]...)
	}
	t := newTable("config,step_time_s,step_time_then_s,speedup,speedup_lo,speedup_hi,extrapolated", "workers,batch,step_time,then,speedup,extrap.")
	factor := func(v float64) string { return fmt.Sprintf("%.2f×", v) }
	for i, r := range rows {
		t.add(r.Config, r.Before.Mean, r.After.Mean, r.Speedup.Mean, r.Speedup.Lo, r.Speedup.Hi, r.Extrapolated)
		under := kindWords(r.Config)
		if !r.Config.Plain() {
			under += ", " + r.Config.Layout.String()
		}
		t.people.addUnder(under, r.Config.Workers, r.Config.LocalBatch, between(r.Before, seconds), between(r.After, seconds),
			between(r.Speedup, factor), beyond(answers[i]))
	}
	t.addInterval("step_time", "_s", func(i int) data.Estimate { return rows[i].Before })
	t.addInterval("step_time_then", "_s", func(i int) data.Estimate { return rows[i].After })
	return out.print(a.stdout, rows, t)
}

// onlyOf is a model without other GPU types and modes.
func onlyOf(m *fit.Model, gpuType string, mode data.Mode) *fit.Model {
	only := *m
	only.Model = m.Only(gpuType, mode)
	return &only
}
