package form

import (
	"fmt"
	"math"
	"testing"

	"knee/data"
)

// Every family's gradient agrees with differences, its StepTime with LogTimes,
// and its parameters with their names.
func TestGradients(t *testing.T) {
	var configs []data.Config
	for _, k := range []int{1, 2, 6, 24} {
		for _, b := range []float64{.25, 1, 24} {
			configs = append(configs, data.Config{Workers: k, PS: 3, LocalBatch: b, AccumSteps: k % 3, Nodes: (k + 3) / 4})
		}
	}
	for name, family := range Families() {
		for _, mode := range family.Modes {
			for variant, s := range map[string]Scale{"": {}, "launched": {Launched: true}, "overlapped": {Overlapped: true}, "input": {Shared: ByAll}, "in turn": {Shared: InTurn}} {
				s.Batch, s.Global, s.Time, s.Step = 8, 32, .2, .3
				var pts []Point
				for _, c := range configs {
					c.Mode = mode
					pts = append(pts, NewPoint(c, s))
				}
				f := NewTyped(NewSloped(family.New(mode, pts, s, true), []Feature{{Name: "x", At: func(p *Point) float64 { return p.LnWorkers }}}), 2)
				t.Run(fmt.Sprintf("%s/%s/%s", name, mode, variant), func(t *testing.T) {
					for i := range pts {
						pts[i].Type = i % 2
						checkGradient(t, f, &pts[i])
					}
				})
			}
		}
	}
}

func checkGradient(t *testing.T, f Form, p *Point) {
	t.Helper()
	n := 2 * len(f.Names())
	x := make([]float64, n)
	for i := range x {
		x[i] = .3 * math.Sin(float64(3*i+1))
	}
	step, compute := make([]float64, n), make([]float64, n)
	f.Gradient(x)(p, step, compute)
	const h = 1e-5
	for i := range x {
		at := func(d float64) (float64, float64) {
			y := append([]float64(nil), x...)
			y[i] += d
			return f.Bind(y).LogTimes(p)
		}
		upStep, upCompute := at(h)
		downStep, downCompute := at(-h)
		if s, c := (upStep-downStep)/(2*h), (upCompute-downCompute)/(2*h); math.Abs(s-step[i]) > 1e-5 || math.Abs(c-compute[i]) > 1e-5 {
			t.Errorf("coordinate %d at %+v: %.6f and %.6f, by differences %.6f and %.6f", i, *p, step[i], compute[i], s, c)
		}
	}
}

// Join of the separable parts agrees with LogTimes.
func TestParts(t *testing.T) {
	s := Scale{Batch: 8, Global: 32, Time: .2, Step: .3}
	p := NewPoint(data.Config{Workers: 12, Nodes: 3, LocalBatch: 4, AccumSteps: 1}, s)
	f := NewSloped(Families()[CollectiveFamily].New(data.AllReduce, nil, s, false), nil)
	c := f.Bind(make([]float64, len(f.Names())))
	if !IsSeparable(c) {
		t.Fatal("collective has no parts")
	}
	parts := PartsOf(c, 0)
	ln := parts.LnCompute(&p)
	want, _ := c.LogTimes(&p)
	if got := parts.Join(&p, ln, parts.ComputePower(ln), parts.SyncPower(&p)); math.Abs(got-want) > 1e-12 {
		t.Errorf("joined %g, want %g", got, want)
	}
}

// Eight ranks that divide the experts send tokens, as much as tensor parallelism
// over eight, but no gradients of experts, and update only theirs.
func TestExperts(t *testing.T) {
	s := Scale{Batch: 4, Global: 32, Time: 1, Step: 1, Unit: 1}
	f := Families()[LayoutFamily].New(data.AllReduce, nil, s, false)
	c := f.Bind(make([]float64, len(f.Names()))).(*layoutCurve)
	c.x[layOverlap], c.x[layIntraPower] = -100, -100 // none
	at := func(ep int) LayoutParts {
		p := NewPoint(data.Config{Workers: 8, Nodes: 1, LocalBatch: 4, Layout: data.Layout{EP: ep}}, s)
		p.Offsets.InExperts = .75
		l, _ := c.parts(&p)
		return l
	}
	one, eight := at(1), at(8)
	if one.Tensor != 0 || math.Abs(eight.Tensor-4*ring(8)) > 1e-12 {
		t.Errorf("tokens take %g and %g, want 0 and %g", one.Tensor, eight.Tensor, 4*ring(8))
	}
	if math.Abs(eight.Exposed/one.Exposed-.25) > 1e-9 || math.Abs(eight.Optimizer/one.Optimizer-(.25+.75/8)) > 1e-12 {
		t.Errorf("gradients %g of %g, optimizer %g of %g; want a quarter, and %g", eight.Exposed, one.Exposed, eight.Optimizer, one.Optimizer, .25+.75/8)
	}
}

// Ranks that share the tokens of a sample pass keys and values around, and hold
// and sum all parameters, as replicas do.
func TestContextParallelism(t *testing.T) {
	s := Scale{Batch: 4, Global: 8, Time: 1, Step: 1, Unit: 1}
	f := Families()[LayoutFamily].New(data.AllReduce, nil, s, false)
	c := f.Bind(make([]float64, len(f.Names()))).(*layoutCurve)
	c.x[layOverlap], c.x[layIntraPower] = -100, -100 // none
	at := func(batch float64, l data.Layout) LayoutParts {
		p := NewPoint(data.Config{Workers: 8, Nodes: 1, LocalBatch: batch, Layout: l}, s)
		parts, _ := c.parts(&p)
		return parts
	}
	replicas, context := at(4, data.Layout{TP: 4}), at(8, data.Layout{TP: 4, CP: 2})
	if math.Abs(context.Tensor-replicas.Tensor-8*.75*ring(2)/4) > 1e-12 {
		t.Errorf("tensors, keys and values take %g, want those of replicas, %g, and %g", context.Tensor, replicas.Tensor, 8*.75*ring(2)/4)
	}
	if replicas.Exposed <= 0 || math.Abs(context.Exposed-replicas.Exposed) > 1e-9 || context.Optimizer != replicas.Optimizer {
		t.Errorf("gradients %g, optimizer %g; want %g and %g", context.Exposed, context.Optimizer, replicas.Exposed, replicas.Optimizer)
	}
}

// Hybrid sharding of one node is full sharding; of several it gathers inside the nodes
// for each micro-batch, and sums an eighth of the gradients over the nodes once.
func TestHybridSharding(t *testing.T) {
	s := Scale{Batch: 1, Global: 64, Time: 1, Step: 1, Unit: 1}
	f := Families()[LayoutFamily].New(data.AllReduce, nil, s, false)
	c := f.Bind(make([]float64, len(f.Names()))).(*layoutCurve)
	c.x[layOverlap], c.x[layIntraPower], c.x[layInter], c.x[layPower] = -100, -100, math.Log(50), 0 // no overlap; far slower links between nodes
	at := func(nodes int, sharding string) LayoutParts {
		p := NewPoint(data.Config{Workers: 8 * nodes, Nodes: nodes, LocalBatch: 1, AccumSteps: 3, Layout: data.Layout{Sharding: sharding}}, s)
		parts, _ := c.parts(&p)
		return parts
	}
	if hybrid, full := at(1, "hybrid"), at(1, "zero3"); hybrid != full {
		t.Errorf("on one node %+v, want %+v", hybrid, full)
	}
	inside := at(1, "zero3").Exposed
	if got, want := at(4, "hybrid").Exposed, inside+ring(4)/8*50; math.Abs(got/want-1) > 1e-9 {
		t.Errorf("on four nodes %g, want %g", got, want)
	}
	if hybrid, one := at(4, "hybrid").Optimizer, at(1, "zero3").Optimizer; hybrid != one {
		t.Errorf("the optimizer takes %g, want that of a node's shards, %g", hybrid, one)
	}
}
