package main

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"

	"knee/data"
	"knee/fit"
	"knee/predict"
)

type layoutRow struct {
	answerRow
	Bubble        float64 `json:"bubble_share"`
	Communication float64 `json:"communication_share"`
	Loses         string  `json:"loses,omitempty"`
}

// layouts reports whether layouts are requested: by --best, or by a sweep over
// workers of a model with measured layouts, which gives the fastest of each size.
func (f *predictFlags) layouts(m *fit.Model) bool {
	if f.best || f.at != "" || f.whatIf != "" || f.deadline != "" || f.budget > 0 || f.localBatch > 0 {
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

// predictLayouts lists the fastest layouts that fit, for every number of workers.
func (a *app) predictLayouts(p *predict.Predictor, f predictFlags, out format) error {
	if f.workers == "" {
		return usageError("--best: want --workers, the GPUs to spread the model over")
	}
	workers, err := counts("workers", f.workers)
	if err != nil {
		return err
	}
	measured := p.Model.GPUTypes()
	if f.gpuType == "" && len(measured) > 1 {
		return usageError("--gpu-type: want one of %v", measured)
	}
	gpu := cmp.Or(f.gpuType, measured[0])
	if p.Model.Memory() == nil {
		a.note("memory is not known, so every layout counts as fitting; add peak_memory_bytes to the measurements, or give --model")
	}
	t := newTable("workers,layout,step_time,samples/s,memory,fits,bubble,communication,loses by")
	var rows []layoutRow
	var last error
	for _, k := range workers {
		all, err := p.Layouts(predict.LayoutQuestion{GPUType: gpu, Workers: k, GlobalBatch: f.globalBatch, PerNode: f.perNode})
		if err != nil {
			if last = err; len(workers) > 1 {
				a.note("%d workers: %v", k, err)
			}
			continue
		}
		for _, l := range all[:min(f.top, len(all))] {
			rows = append(rows, t.addLayout(l, k, between(l.StepTime, seconds), between(l.Throughput, number)))
		}
		if best := all[0]; len(all) > 1 && f.best && best.StepTime.Hi > all[1].StepTime.Lo {
			overlapping := slices.DeleteFunc(slices.Clone(all), func(l predict.LayoutAnswer) bool { return l.StepTime.Lo >= best.StepTime.Hi })
			a.note("%d workers: the intervals of the first %d layouts overlap; measure them to decide", k, len(overlapping))
		}
	}
	if len(rows) == 0 {
		return last
	}
	return out.print(a.stdout, rows, t)
}

// addLayout adds a layout on k workers with its speed.
func (t *table) addLayout(l predict.LayoutAnswer, k int, speed ...any) layoutRow {
	bubble, communication := l.Shares()
	t.add(slices.Concat([]any{k, layoutWords(l.Config)}, speed, []any{memoryWords(l.Answer), fitsWords(l.Answer), part(bubble), part(communication), l.Loses})...)
	return layoutRow{rowsOf([]predict.Answer{l.Answer})[0], bubble, communication, l.Loses}
}

func layoutWords(c data.Config) string {
	words := fmt.Sprintf("tp %d, pp %d, dp %d, micro-batch %s × %d", max(c.TP, 1), max(c.PP, 1), c.Replicas(), number(c.LocalBatch), c.AccumSteps+1)
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
	if p.Memory == nil || math.IsInf(p.Memory.Capacity, 1) {
		return ""
	}
	return fmt.Sprintf("%.2f", p.Memory.Fits)
}

// predictMemory answers from the size of a model alone: which layouts fit.
func (a *app) predictMemory(arch data.Architecture, f predictFlags, out format) error {
	if f.workers == "" || f.gpuType == "" {
		return usageError("without MODEL.json: want --workers and --gpu-type, besides --model, to say what fits")
	}
	workers, err := counts("workers", f.workers)
	if err != nil {
		return err
	}
	if _, ok := data.FindGPU(f.gpuType); !ok {
		return &data.UnknownError{What: "GPU type", Name: f.gpuType, Known: data.GPUNames()}
	}
	f.perNode, f.globalBatch = cmp.Or(f.perNode, 8), cmp.Or(f.globalBatch, 512)
	t := newTable("workers,layout,relative time,memory,fits,bubble,communication,loses by")
	var rows []layoutRow
	for _, k := range workers {
		all := predict.UnmeasuredLayouts(arch, f.gpuType, k, min(f.perNode, k), f.globalBatch)
		for _, l := range all[:min(f.top, len(all))] {
			rows = append(rows, t.addLayout(l, k, fmt.Sprintf("%.2f", l.Expected/all[0].Expected)))
		}
	}
	a.note("computed from the size of the model alone, at %g samples per step on nodes of %d; nothing was measured. Memory spans the frameworks; layouts that fit come first, in the order of time expected from other jobs. Measure the first ones, with peak_memory_bytes, to know more", f.globalBatch, f.perNode)
	return out.print(a.stdout, rows, t)
}

// sized returns the model with the size of the transformer in a file.
func sized(m *fit.Model, path string) (*fit.Model, error) {
	if path == "" {
		return m, nil
	}
	arch, err := data.LoadArchitecture(path)
	if err != nil {
		return nil, err
	}
	return m.For(arch), nil
}
