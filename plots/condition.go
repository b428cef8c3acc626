package plots

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"knee/data"
	"knee/fit"
	"knee/internal/grouped"
	"knee/internal/list"
	"knee/predict"
)

// Condition is what a curve over workers holds fixed: a model, a GPU type, a
// mode, the number of ps, a batch and knobs.
type Condition struct {
	Predictor *predict.Predictor
	Base      data.Config // its workers are ignored
	// GlobalBatch is divided among the workers (strong scaling); 0 keeps the local batch of
	// Base (weak scaling), or the best for every number of workers if 0 too.
	GlobalBatch float64
	Workers     []int // ascending; nil: up to twice the most measured
	Layout      bool  // each number of workers gets its fastest layout that fits
}

// Conditions returns one for every GPU type and mode of a model, with the batch measured
// most and the measured number of ps with the highest predicted speed.
func Conditions(p *predict.Predictor) ([]Condition, error) {
	var out []Condition
	for _, gpu := range p.Model.GPUTypes() {
		local, accum, global := commonBatch(p.Model, gpu)
		for _, mode := range p.Model.Modes(gpu) {
			c := Condition{Predictor: p, Base: data.Config{Job: p.Model.Job(), GPUType: gpu, Mode: mode, LocalBatch: local, AccumSteps: accum}}
			switch {
			case mode == data.AllReduce && p.Model.Layouts(gpu) != nil:
				c.Layout = true
			case mode != data.PSAsync:
				c.GlobalBatch = global
			}
			c, err := c.WithBestPS()
			if err != nil {
				return nil, err
			}
			out = append(out, c)
		}
	}
	return out, nil
}

// WithBestPS sets the measured number of ps at which the best predicted speed is highest.
func (c Condition) WithBestPS() (Condition, error) {
	_, servers := predict.Sizes(c.Predictor.Model, c.Base.GPUType, c.Base.ModeOrDefault())
	best, highest := c, 0.0
	for _, c.Base.PS = range servers {
		if len(servers) == 1 {
			return c, nil
		}
		answers, err := c.Answers()
		if err != nil {
			return c, err
		}
		for _, a := range answers {
			if rate := 1 / a.StepTime.Mean; rate > highest {
				highest, best = rate, c
			}
		}
	}
	return best, nil
}

// commonBatch returns the most common local batch of a GPU type with its accumulation, and
// the global batch if one was measured on more numbers of workers than that, else 0.
func commonBatch(m *fit.Model, gpuType string) (local float64, accum int, global float64) {
	rows := slices.DeleteFunc(m.AllMeasurements(), func(r data.Measurement) bool { return r.GPUType != gpuType })
	if len(rows) == 0 {
		return 0, 0, 0
	}
	batches, of := grouped.By(rows, func(m data.Measurement) [2]float64 { return [2]float64{m.LocalBatch, float64(m.AccumSteps)} })
	globals, at := grouped.By(rows, data.Measurement.GlobalBatch)
	slices.SortFunc(batches, func(a, b [2]float64) int { return slices.Compare(a[:], b[:]) })
	slices.Sort(globals)
	most := slices.Max(list.Map(batches, func(b [2]float64) int { return len(of[b]) }))
	common := slices.DeleteFunc(batches, func(b [2]float64) bool { return len(of[b]) < most })
	batch := common[(len(common)-1)/2]
	sizes := func(rows []data.Measurement) int { // different numbers of workers
		workers, _ := grouped.By(rows, func(m data.Measurement) int { return m.Workers })
		return len(workers)
	}
	for _, g := range globals {
		if n := sizes(at[g]); n > 2 && n > sizes(of[batch]) && n > sizes(at[global]) {
			global = g
		}
	}
	return batch[0], int(batch[1]), global
}

// Answers predicts the curve, workers ascending, without layouts that fit nowhere and
// workers with less than one sample. It fails if nothing is left.
func (c Condition) Answers() ([]predict.Answer, error) {
	p, gpu, workers := *c.Predictor, c.Base.GPUType, c.Workers
	if !c.Layout {
		if workers == nil {
			workers, _ = predict.Sizes(p.Model, gpu, c.Base.ModeOrDefault())
		}
		if c.GlobalBatch > 0 {
			p.GlobalBatch, c.Base.LocalBatch = c.GlobalBatch, 0
		}
		return predict.Sweep(&p, c.Base, workers)
	}
	if workers == nil {
		workers = predict.LayoutSizes(p.Model.Layouts(gpu))
	}
	var out []predict.Answer
	var failed error
	for _, k := range workers {
		all, err := p.Layouts(predict.LayoutQuestion{GPUType: gpu, Workers: k, GlobalBatch: c.GlobalBatch})
		if err != nil {
			failed = err
			continue
		}
		out = append(out, all[0].Answer)
	}
	if len(out) == 0 {
		return nil, failed
	}
	return out, nil
}

// Measured returns the measurements on the curve: of layouts, the fastest at each size.
func (c Condition) Measured() []data.Measurement {
	if c.Layout {
		return c.fastestLayouts()
	}
	return c.rows(func(row data.Measurement) bool {
		if c.GlobalBatch > 0 {
			return row.GlobalBatch() == c.GlobalBatch
		}
		return row.LocalBatch == c.Base.LocalBatch && row.AccumSteps == c.Base.AccumSteps
	})
}

// rows returns the measurements of the condition at any batch and workers, of a kind.
func (c Condition) rows(is func(data.Measurement) bool) (on []data.Measurement) {
	m := c.Predictor.Model
	full, err := m.Resolve(atLeastOne(c.Base))
	if err != nil {
		return nil
	}
	for _, row := range m.Measurements(c.Base.GPUType, c.Base.ModeOrDefault()) {
		same, err := m.Resolve(row.Config)
		if err == nil && is(row) && row.PS == c.Base.PS && maps.Equal(same.Extra, full.Extra) {
			on = append(on, row)
		}
	}
	return on
}

func (c Condition) fastestLayouts() []data.Measurement {
	p := c.Predictor
	batch := p.LayoutBatch(predict.LayoutQuestion{GPUType: c.Base.GPUType, GlobalBatch: c.GlobalBatch})
	fastest := map[int]data.Measurement{}
	for _, m := range p.Model.Layouts(c.Base.GPUType) {
		if f, ok := fastest[m.Workers]; m.GlobalBatch() == batch && (!ok || m.StepTime < f.StepTime) {
			fastest[m.Workers] = m
		}
	}
	return slices.SortedFunc(maps.Values(fastest), func(a, b data.Measurement) int { return a.Workers - b.Workers })
}

// atLeastOne returns c with a worker if it has none.
func atLeastOne(c data.Config) data.Config {
	c.Workers = max(c.Workers, c.Placement.Workers(), 1)
	return c
}

// parts names what is held fixed: job, GPU type, mode, ps, batch, and each knob.
func (c Condition) parts() []string {
	m, b := c.Predictor.Model, c.Base
	ps, batch := "", ""
	if b.PS > 0 {
		ps = fmt.Sprintf("%d ps", b.PS)
	}
	switch {
	case c.Layout:
		batch = fmt.Sprintf("%s samples per step, the layouts predicted and measured to be fastest", Number(c.Predictor.LayoutBatch(predict.LayoutQuestion{GPUType: b.GPUType, GlobalBatch: c.GlobalBatch})))
	case c.GlobalBatch > 0:
		batch = fmt.Sprintf("%s samples per step, divided among the workers", Number(c.GlobalBatch))
	case b.LocalBatch > 0:
		batch = amount(b.LocalBatch, "samples") + " per worker"
		if b.AccumSteps > 0 {
			batch += fmt.Sprintf(" and micro-step, %d micro-steps", b.AccumSteps+1)
		}
	}
	parts := []string{m.Job(), b.GPUType, string(b.ModeOrDefault()), ps, batch}
	if full, err := m.Resolve(atLeastOne(b)); err == nil {
		for _, k := range m.Knobs(full.GPUType, full.Mode) {
			if len(k.Values) > 1 {
				parts = append(parts, k.Name+" "+full.Extra[k.Name])
			}
		}
	}
	return parts
}

// named names everything but job and batch.
func (c Condition) named() string {
	p := c.parts()
	return joinNamed(slices.Delete(p, 4, 5)[1:])
}

// String names everything but the job.
func (c Condition) String() string { return joinNamed(c.parts()[1:]) }

func joinNamed(parts []string) string {
	return strings.Join(slices.DeleteFunc(slices.Clone(parts), func(s string) bool { return s == "" }), ", ")
}

// namesOf names curves by what they differ in, and returns what they share. The name
// of a single one is its GPU type, mode and ps.
func namesOf(all []Condition) (names []string, shared string) {
	if len(all) == 1 {
		p := all[0].parts()
		return []string{joinNamed(p[1:4])}, joinNamed(p[4:])
	}
	parts := list.Map(all, Condition.parts)
	common := func(part string) bool {
		return !slices.ContainsFunc(parts, func(p []string) bool { return !slices.Contains(p, part) })
	}
	names = list.Map(parts, func(p []string) string {
		return cmp.Or(joinNamed(slices.DeleteFunc(slices.Clone(p), common)), "(no gpu_type)")
	})
	same := func(part string) bool { return !common(part) }
	return names, joinNamed(slices.DeleteFunc(parts[0][1:], same)) // the job is the title
}
