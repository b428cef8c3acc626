package predict

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"slices"

	"gonum.org/v1/gonum/floats"

	"knee/data"
	"knee/fit/memory"
	"knee/fit/speed"
	"knee/fit/speed/form"
	"knee/internal/grouped"
)

// LayoutQuestion asks for the fastest layouts of a model on some workers.
type LayoutQuestion struct {
	GPUType     string
	Workers     int
	GlobalBatch float64 // samples per step; 0: measured most often
	PerNode     int     // workers on a node; 0: most measured
	Unfit       bool    // also layouts that fit with less than [LeastFits]
}

// LayoutAnswer is a layout and its prediction.
type LayoutAnswer struct {
	Answer
	Parts form.LayoutParts // parts of a step, s, by the form alone
	// Loses names the part that exceeds the fastest layout's most; empty for the fastest.
	Loses string
}

// byUsefulSpeed orders layouts by P(fits) / expected step time, the speed
// expected of trying them, the largest first. It sets Loses: the part of a step
// by which one exceeds the first most, as a share of the first one's step.
func byUsefulSpeed(all []LayoutAnswer) {
	time := func(a LayoutAnswer) float64 {
		if a.Memory == nil {
			return a.Expected
		}
		return a.Expected / a.Memory.Fits
	}
	slices.SortStableFunc(all, func(a, b LayoutAnswer) int {
		return cmp.Or(cmp.Compare(time(a), time(b)), cmp.Compare(a.Expected, b.Expected))
	})
	for i := 1; i < len(all); i++ {
		l, best := all[i].Parts, all[0].Parts
		names := []string{"computing", "tensor communication", "pipeline bubble", "gradients", "optimizer"}
		by := []float64{l.Compute - best.Compute, l.Tensor - best.Tensor, l.Bubble - best.Bubble,
			l.Exposed - best.Exposed, l.Optimizer - best.Optimizer}
		most := floats.MaxIdx(by)
		all[i].Loses = fmt.Sprintf("%s +%.0f %%", names[most], 100*by[most]/best.Step())
		if all[i].Expected <= all[0].Expected {
			all[i].Loses = "probability to fit"
		}
	}
}

// Shares returns the shares (0..1) of a step that the pipeline bubble and
// communication (of tensors, and exposed communication of gradients) take.
func (a LayoutAnswer) Shares() (bubble, communication float64) {
	step := a.Parts.Step()
	return a.Parts.Bubble / step, (a.Parts.Tensor + a.Parts.Exposed) / step
}

// Layouts predicts every layout of the workers at the global batch that fits, with every
// combination of the measured shardings, recomputes and offloads, in descending order of
// P(fits) / expected step time. It fails with a *data.InputError if no layout was measured
// or none divides the batch, and with a *[NoLayoutError] if none fits.
func (p *Predictor) Layouts(q LayoutQuestion) ([]LayoutAnswer, error) {
	measured := p.Model.Layouts(q.GPUType)
	if len(measured) == 0 {
		return nil, data.Invalid("layout", "no measured layout of "+q.GPUType, "measurements with tp, pp, sharding or recompute, to choose a layout from")
	}
	q = q.complete(measured)
	candidates := q.candidates(measured, p.Model.Architecture(), 1)
	if len(candidates) == 0 {
		return nil, q.indivisible()
	}
	if !q.Unfit {
		var err error
		if candidates, err = p.fitting(candidates); err != nil {
			return nil, err
		}
	}
	answers, err := p.AtAll(candidates)
	if err != nil {
		return nil, err
	}
	all := make([]LayoutAnswer, len(answers))
	for i, a := range answers {
		parts, _ := p.Model.Parts(a.Config)
		all[i] = LayoutAnswer{Answer: a, Parts: parts}
	}
	byUsefulSpeed(all)
	return all, nil
}

// fitting returns those that fit with [LeastFits], by memory alone: predicting speed costs
// far more. It fails with a *[NoLayoutError] if none fits.
func (p *Predictor) fitting(candidates []data.Config) (fit []data.Config, err error) {
	nearest, most := 0, 0.
	for i, c := range candidates {
		if c, err = p.resolve(c); err != nil {
			return nil, err
		}
		switch m := p.memoryOf(c); {
		case m == nil || m.Fits >= LeastFits:
			fit = append(fit, c)
		case m.Fits > most:
			nearest, most = i, m.Fits
		}
	}
	if len(fit) > 0 {
		return fit, nil
	}
	a, err := p.At(candidates[nearest])
	return nil, cmp.Or(err, error(&NoLayoutError{Tried: len(candidates), Nearest: a}))
}

// chooseLayout returns c with the layout of the largest goodput that fits.
func (p *Predictor) chooseLayout(c data.Config) (data.Config, error) {
	q := LayoutQuestion{GPUType: c.GPUType, Workers: c.Workers, PerNode: c.WidestNode(), GlobalBatch: p.batch().Initial}.complete(p.Model.Layouts(c.GPUType))
	most := q.GlobalBatch
	if p.batch().Adapt {
		most = math.Max(most, p.batch().Max)
	}
	best, goodput := c, 0.
	var failed error
	for ; q.GlobalBatch <= most; q.GlobalBatch *= 2 {
		all, err := p.Layouts(q)
		if err != nil {
			failed = err
			continue
		}
		if g := q.GlobalBatch / all[0].Expected * all[0].Efficiency.Mean; g > goodput {
			best, goodput = all[0].Config, g
		}
	}
	if goodput == 0 {
		return c, failed
	}
	best.Placement, best.Nodes, best.Extra = c.Placement, c.Nodes, c.Extra
	return best, nil
}

// LayoutSizes returns the worker counts to answer layout questions for: those
// measured, and powers of two from half the least to twice the most measured.
func LayoutSizes(measured []data.Measurement) []int {
	sizes := map[int]bool{}
	least, most := measured[0].Workers, 0
	for _, m := range measured {
		sizes[m.Workers] = true
		least, most = min(least, m.Workers), max(most, m.Workers)
	}
	for k := range doublings(2 * most) {
		if 2*k >= least {
			sizes[k] = true
		}
	}
	return slices.Sorted(maps.Keys(sizes))
}

// LayoutBatch returns the global batch of a question, in samples.
func (p *Predictor) LayoutBatch(q LayoutQuestion) float64 {
	return q.complete(p.Model.Layouts(q.GPUType)).GlobalBatch
}

// NoLayoutError says that no layout fits in memory.
type NoLayoutError struct {
	Tried   int
	Nearest Answer
}

// Error implements error.
func (e *NoLayoutError) Error() string {
	return fmt.Sprintf("none of %d layouts fits in memory with a probability of %g; the nearest, %s, %s",
		e.Tried, LeastFits, e.Nearest.Config, e.Nearest.Unfit())
}

func (q LayoutQuestion) complete(measured []data.Measurement) LayoutQuestion {
	_, of := grouped.By(measured, data.Measurement.GlobalBatch)
	widest := 0
	for _, m := range measured {
		widest = max(widest, m.WidestNode())
	}
	q.GlobalBatch, q.PerNode = cmp.Or(q.GlobalBatch, mostCommon(of)), cmp.Or(q.PerNode, widest)
	return q
}

// candidates lists the layouts to choose from: degrees that are powers of two or were
// measured; tp by divisors of the heads, within a node unless measured wider; pp by divisors
// of the layers; cp up to twice the largest measured, at least widest; ep by
// divisors of the experts; micro-batches that were measured or are powers of two up to
// twice the largest; every combination of the measured words of sharding, recompute and
// offload, also of words never measured together, but pipelines with sharded gradients,
// which few programs run, only if they were.
func (q LayoutQuestion) candidates(measured []data.Measurement, a data.Architecture, widest int) []data.Config {
	tensors, stages, contexts, experts := doublings(q.PerNode), doublings(q.Workers), map[int]bool{1: true}, divisors(a.Experts)
	maps.DeleteFunc(tensors, func(t int, _ bool) bool { return a.Heads%t != 0 })
	if a.Layers > 0 {
		stages = divisors(a.Layers)
	}
	pipelined := map[string]bool{"": true, "zero1": true} // with these shardings
	micros, largest := map[float64]bool{}, 1.
	for _, m := range measured {
		tensors[max(m.TP, 1)], stages[max(m.PP, 1)], contexts[max(m.CP, 1)], experts[max(m.EP, 1)] = true, true, true, true
		pipelined[m.Sharding] = pipelined[m.Sharding] || m.PP > 1
		if !m.MicroUnknown && m.LocalBatch > 0 {
			micros[m.LocalBatch], largest = true, math.Max(largest, m.LocalBatch)
		}
		if m.CP > 1 {
			widest = max(widest, 2*m.CP)
		}
	}
	maps.Copy(contexts, doublings(widest))
	for b := 1.; b <= 2*largest; b *= 2 {
		micros[b] = true
	}
	like := data.Config{Job: measured[0].Job, GPUType: measured[0].GPUType, Mode: data.AllReduce,
		Workers: q.Workers, Nodes: (q.Workers + q.PerNode - 1) / q.PerNode}
	layouts := crossedWords(measured)
	for k, degrees := range []map[int]bool{experts, contexts, stages, tensors} {
		some := layouts
		layouts = nil
		for _, n := range slices.Sorted(maps.Keys(degrees)) {
			for _, l := range some {
				*[]*int{&l.EP, &l.CP, &l.PP, &l.TP}[k] = n
				layouts = append(layouts, l)
			}
		}
	}
	seen := map[string]bool{}
	var all []data.Config
	batches := slices.Sorted(maps.Keys(micros))
	for _, l := range layouts {
		if _, _, want := l.Check(q.Workers, data.AllReduce, a); want != "" || l.PP > 1 && !pipelined[l.Sharding] {
			continue
		}
		for _, batch := range batches {
			c := like
			c.LocalBatch, c.Layout = batch, l
			steps := q.GlobalBatch / (float64(c.Replicas()) * batch)
			c.AccumSteps = int(steps) - 1
			if key := q.effective(c).Key(); steps >= 1 && steps == math.Trunc(steps) && !seen[key] {
				seen[key] = true
				all = append(all, c)
			}
		}
	}
	return all
}

// crossedWords combines each measured sharding, recompute and offload with all of the others.
func crossedWords(measured []data.Measurement) (all []data.Layout) {
	shardings, _ := grouped.By(measured, func(m data.Measurement) string { return m.Sharding })
	recomputes, _ := grouped.By(measured, func(m data.Measurement) string { return m.Recompute })
	offloads, _ := grouped.By(measured, func(m data.Measurement) string { return m.Offload })
	for _, s := range shardings {
		for _, r := range recomputes {
			for _, o := range offloads {
				all = append(all, data.Layout{Sharding: s, Recompute: r, Offload: o})
			}
		}
	}
	return all
}

// effective returns c without sharding that does nothing, as of a single replica.
func (q LayoutQuestion) effective(c data.Config) data.Config {
	if d := c.Replicas(); d == 1 {
		c.Sharding = ""
	} else if c.Sharding == "hybrid" && d*max(c.TP, 1) <= q.PerNode {
		c.Sharding = "zero3"
	}
	return c
}

// divisors returns those of n, and 1.
func divisors(n int) map[int]bool {
	all := map[int]bool{1: true}
	for d := 2; d <= n; d++ {
		if n%d == 0 {
			all[d] = true
		}
	}
	return all
}

// doublings returns 1, 2, 4, … up to n.
func doublings(n int) map[int]bool {
	all := map[int]bool{}
	for k := 1; k <= n; k *= 2 {
		all[k] = true
	}
	return all
}

// UnmeasuredLayouts predicts layouts without measurements, in descending order of P(fits) /
// expected step time, in an arbitrary unit. Context is divided only if else no layout fits
// with a probability of a half. It fails with a *data.InputError if none divides the batch.
func UnmeasuredLayouts(a data.Architecture, gpuType string, workers, perNode int, globalBatch float64) ([]LayoutAnswer, error) {
	m := memory.Fit(nil, a, 0)
	q := LayoutQuestion{GPUType: gpuType, Workers: workers, PerNode: perNode, GlobalBatch: globalBatch}
	var like []data.Measurement
	for _, words := range []data.Layout{{}, {Sharding: "zero1", Recompute: "selective"}, {Sharding: "zero3", Recompute: "full"}, {Sharding: "hybrid"}} {
		like = append(like, data.Measurement{Config: data.Config{GPUType: gpuType, Workers: 1, LocalBatch: 4, Layout: words}})
	}
	parts := speed.ExpectedParts(gpuType, a)
	var all []LayoutAnswer
	likely := false
	for _, c := range q.candidates(like, a, workers) {
		needs, l := m.Predict(c), parts(c)
		all = append(all, LayoutAnswer{Answer: Answer{Config: c, Memory: &needs, Expected: l.Step()}, Parts: l})
		likely = likely || c.CP <= 1 && needs.Fits >= .5
	}
	if likely {
		all = slices.DeleteFunc(all, func(l LayoutAnswer) bool { return l.Config.CP > 1 })
	}
	if all == nil {
		return nil, q.indivisible()
	}
	byUsefulSpeed(all)
	return all, nil
}

func (q LayoutQuestion) indivisible() error {
	return data.Invalid("workers", fmt.Sprintf("%d workers and a global batch of %g", q.Workers, q.GlobalBatch), fmt.Sprintf("a global batch that is a multiple of replicas × micro-batch, such as %g", math.Ceil(q.GlobalBatch/float64(q.Workers))*float64(q.Workers)))
}
