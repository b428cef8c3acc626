package main

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"

	"knee/data"
	"knee/predict"
)

type answerRow struct {
	Config       data.Config    `json:"config"`
	StepTime     data.Estimate  `json:"step_time_s"`
	Throughput   data.Estimate  `json:"throughput"`
	Efficiency   data.Estimate  `json:"efficiency"`
	Goodput      data.Estimate  `json:"goodput"`
	GlobalBatch  float64        `json:"global_batch,omitempty"`
	TimeToTarget *data.Estimate `json:"time_to_target_s,omitempty"`
	GPUHours     *data.Estimate `json:"gpu_hours_to_target,omitempty"`
	CostToTarget *data.Estimate `json:"cost_to_target_usd,omitempty"`
	PricePerHour float64        `json:"price_per_hour,omitempty"`
	Extrapolated bool           `json:"extrapolated"`
	Why          string         `json:"why,omitempty"`
	Support      int            `json:"support"`
	PeakMemory   *data.Estimate `json:"peak_memory_bytes,omitempty"`
	GPUMemory    float64        `json:"gpu_memory_bytes,omitempty"`
	Fits         *float64       `json:"p_fits,omitempty"`
}

func rowsOf(answers []predict.Answer) []answerRow {
	rows := make([]answerRow, len(answers))
	for i, p := range answers {
		rows[i] = answerRow{Config: p.Config, StepTime: p.StepTime, Throughput: p.Throughput, Efficiency: p.Efficiency, Goodput: p.Goodput, GlobalBatch: p.Config.GlobalBatch(),
			PricePerHour: p.PricePerHour, Extrapolated: p.Extrapolated, Why: p.Why, Support: p.Support}
		if p.TimeToTarget.Mean > 0 {
			hours := predict.GPUHours(p)
			rows[i].TimeToTarget, rows[i].GPUHours = &p.TimeToTarget, &hours
		}
		if p.CostToTarget.Mean > 0 {
			rows[i].CostToTarget = &p.CostToTarget
		}
		if m := p.Memory; m != nil {
			if rows[i].PeakMemory = &m.Peak; !math.IsInf(m.Capacity, 1) {
				rows[i].GPUMemory, rows[i].Fits = m.Capacity, &m.Fits
			}
		}
	}
	return rows
}

// answerTable is the table of predictions: in CSV every figure in its own column,
// else estimates with their intervals.
func answerTable(answers []predict.Answer, f predictFlags) table {
	t := answerCSV(answers)
	t.people = answersForPeople(answers, f)
	return t
}

// answersForPeople is the table for a terminal: heads give GPU type and mode;
// with a goal, time and US$ (or GPU-hours) to it replace the speed; the knobs
// outside the measured range are named.
func answersForPeople(answers []predict.Answer, f predictFlags) *table {
	goal := slices.ContainsFunc(answers, func(p predict.Answer) bool { return p.TimeToTarget.Mean > 0 })
	t := newTable("workers,batch,step_time,samples/s,goodput,extrap.")
	if goal {
		t = newTable("workers,batch,step_time,goodput,time_to_target,takes,extrap.")
	}
	if f.accumulation {
		t.columns = slices.Insert(t.columns, 2, "global_batch")
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
			takes := between(predict.GPUHours(p), number) + " GPU-h"
			if p.CostToTarget.Mean > 0 {
				takes = between(p.CostToTarget, dollars)
			}
			cells = []any{workers, batch, seconds(p.StepTime.Mean), number(p.Goodput.Mean), between(p.TimeToTarget, seconds), takes}
		}
		if f.accumulation {
			cells = slices.Insert(cells, 2, any(number(p.Config.GlobalBatch())))
		}
		t.addUnder(kindWords(p.Config), append(cells, beyond(p))...)
	}
	return &t
}

// kindWords names what the configurations of a curve share.
func kindWords(c data.Config) string {
	words := string(c.ModeOrDefault())
	if c.GPUType != "" {
		words = c.GPUType + ", " + words
	}
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
		knob, _, _ := strings.Cut(part, " ")
		knobs = append(knobs, knob)
	}
	return strings.Join(knobs, ", ")
}

// orEmpty writes an exact figure, or an empty cell for one that does not exist,
// such as the time to a goal without a goal.
func orEmpty(v float64) string {
	if v == 0 {
		return ""
	}
	return exact(v)
}

func answerCSV(answers []predict.Answer) table {
	t := newTable("job,gpu_type,mode,placement,nodes,workers,ps,local_batch,accum_steps,step_time_s,step_time_lo_s,step_time_hi_s," +
		"throughput,goodput,time_to_target_s,cost_to_target_usd,extrapolated,support,global_batch,gpu_hours_to_target")
	knobs := map[string]string{}
	memory, layouts := false, false
	for _, p := range answers {
		c := p.Config
		t.add(c.Job, c.GPUType, c.ModeOrDefault(), c.Placement, c.NodeCount(), c.Workers, c.PS,
			exact(c.LocalBatch), c.AccumSteps, exact(p.StepTime.Mean), exact(p.StepTime.Lo), exact(p.StepTime.Hi),
			exact(p.Throughput.Mean), exact(p.Goodput.Mean), orEmpty(p.TimeToTarget.Mean), orEmpty(p.CostToTarget.Mean), p.Extrapolated, p.Support,
			exact(c.GlobalBatch()), orEmpty(predict.GPUHours(p).Mean))
		maps.Copy(knobs, c.Extra)
		memory, layouts = memory || p.Memory != nil, layouts || !c.Plain()
	}
	more := func(name string, cell func(predict.Answer) string) {
		t.columns = append(t.columns, name)
		for i, p := range answers {
			t.rows[i] = append(t.rows[i], cell(p))
		}
	}
	peak := func(of func(data.Estimate) float64) func(predict.Answer) string {
		return func(p predict.Answer) string {
			if p.Memory == nil {
				return ""
			}
			return exact(math.Round(of(p.Memory.Peak)))
		}
	}
	if memory {
		more("peak_memory_bytes", peak(func(e data.Estimate) float64 { return e.Mean }))
		more("peak_memory_lo_bytes", peak(func(e data.Estimate) float64 { return e.Lo }))
		more("peak_memory_hi_bytes", peak(func(e data.Estimate) float64 { return e.Hi }))
		more("p_fits", fitsWords)
	}
	for _, name := range data.LayoutNames() {
		if layouts {
			more(name, func(p predict.Answer) string { return p.Config.Get(name) })
		}
	}
	for _, name := range slices.Sorted(maps.Keys(knobs)) {
		more("x_"+name, func(p predict.Answer) string { return p.Config.Extra[name] })
	}
	return t
}
