package plots

import (
	"fmt"
	"math"
	"math/rand/v2"

	"knee/allocate/plan"
	"knee/allocate/simulate"
	"knee/data"
)

// The specs below are made up, with the shapes that measurements have.

// sample is a named figure.
type sample struct {
	name string
	make func() (Figure, error)
}

// samples lists one figure of each kind, and the variants that lay out
// differently.
func samples() []sample {
	return []sample{
		{"scalability", func() (Figure, error) { return NewScalability(scalabilitySample()) }},
		{"scalability_log2", func() (Figure, error) { return NewScalability(log2Sample()) }},
		{"scalability_crowded", func() (Figure, error) { return NewScalability(crowdedSample()) }},
		{"speed_workers", func() (Figure, error) { return NewScalability(speedSample(true)) }},
		{"speed_ps", func() (Figure, error) { return NewScalability(speedSample(false)) }},
		{"convergence", func() (Figure, error) { return convergenceSample(400).draw() }},
		{"search", func() (Figure, error) { return NewSearch("", searchSample()) }},
		{"allocation", func() (Figure, error) { return NewAllocation(allocationSample()) }},
		{"allocation_large", func() (Figure, error) { return NewAllocation(largeAllocationSample()) }},
		{"efficiency", func() (Figure, error) { return efficiencySample().draw() }},
		{"batch", func() (Figure, error) { return batchSample().draw() }},
		{"heatmap", func() (Figure, error) { return heatSample().draw() }},
		{"search_surrogate", func() (Figure, error) { return surrogateSample().draw() }},
		{"cluster_value", func() (Figure, error) { return NewClusterValue("24 jobs, objective jct", clusterValueSample()) }},
		{"gains", func() (Figure, error) { return gainsSample(3, 16).draw() }},
		{"gains_many", func() (Figure, error) { return gainsSample(24, 128).draw() }},
		{"residuals", func() (Figure, error) { return NewResiduals("resnet50-imagenet", residualSample()) }},
		{"simulation", func() (Figure, error) { return NewSimulation("policies on one workload", simulationSample()) }},
		{"scalability_dark", func() (Figure, error) {
			fig, err := NewScalability(scalabilitySample())
			return Dark(fig), err
		}},
		{"simulation_usage", func() (Figure, error) { return NewOccupancy("GPUs in use", occupancySample(90)) }},
	}
}

// ring is the throughput of data-parallel training with a ring all-reduce.
func ring(w, compute, sync float64) float64 {
	return w * 64 / (compute + sync*(w-1)/w + 0.006*w)
}

func ringSeries(name string, compute, sync float64, measured []float64, upTo int, knee float64) Series {
	s := Series{Name: name}
	for i, w := range measured {
		y := ring(w, compute, sync) * (1 + 0.02*math.Sin(float64(3*i+1)))
		half := y * (0.015 + 0.03*float64(i%3))
		s.Points = append(s.Points, Point{X: w, Y: y, Lo: y - half, Hi: y + half})
	}
	last := measured[len(measured)-1]
	for w := 1; w <= upTo; w++ {
		x := float64(w)
		y := ring(x, compute, sync)
		spread := 0.03 + 0.015*math.Max(0, x-last)
		s.Curve = append(s.Curve, Band{X: x, Mean: y, Lo: y * (1 - spread), Hi: y * (1 + spread), Extrapolated: x > last})
	}
	if knee > 0 {
		s.Knee = &Knee{X: knee, Y: ring(knee, compute, sync)}
	}
	return s
}

func scalabilitySample() Scalability {
	s := ringSeries("a100, allreduce", 0.11, 0.05, []float64{1, 2, 4, 6, 8, 10}, 16, 7)
	s.Points = append(s.Points, Point{X: 12, Status: data.OOM})
	return Scalability{
		Title: "resnet50-imagenet", Subtitle: "a100, allreduce, local batch 64",
		Quantity: Throughput, Series: []Series{s}, Ideal: true, X: LinearScale,
	}
}

func log2Sample() Scalability {
	return Scalability{
		Title: "bert-squad", Subtitle: "a100 and t4, allreduce, local batch 64",
		Quantity: Goodput, Ideal: true, X: AutoScale,
		Series: []Series{
			ringSeries("a100", 0.08, 0.06, []float64{1, 2, 4, 8, 16, 32}, 64, 12),
			ringSeries("t4", 0.35, 0.08, []float64{1, 2, 4, 8, 16}, 64, 0),
		},
	}
}

func crowdedSample() Scalability {
	var all []Series
	for i := range 5 {
		all = append(all, ringSeries(fmt.Sprintf("variant %d of the job", i+1), 0.06+0.05*float64(i), 0.05, []float64{1, 2, 4, 6, 8}, 8, 0))
	}
	all[1].Points = append(all[1].Points, Point{X: 6, Status: data.Failed})
	all[4].Points = append(all[4].Points, Point{X: 6, Status: data.OOM}, Point{X: 8, Status: data.OOM})
	return Scalability{Title: "five variants", Subtitle: "a legend of seven entries", Quantity: Throughput, Series: all, Ideal: true, X: LinearScale}
}

// psSpeed is the synchronous speed of Optimus with made-up coefficients.
func psSpeed(w, p float64) float64 { return 1 / (2.1/w + 0.09*w/p + 0.02*w + 0.03*p + 0.2) }

func speedSample(overWorkers bool) Scalability {
	s := Scalability{Title: "speed under parameter servers", Subtitle: "resnext110-cifar10, ps-sync, cpu", Quantity: Speed, X: LinearScale}
	fixed, unit := []int{2, 4, 8}, "ps"
	if !overWorkers {
		s.XLabel, fixed, unit = "parameter servers", []int{4, 8, 16}, "workers"
	}
	for _, k := range fixed {
		c := Series{Name: fmt.Sprintf("%d %s", k, unit)}
		for i := 1; i <= 20; i++ {
			w, p := float64(i), float64(k)
			if !overWorkers {
				w, p = p, w
			}
			y := psSpeed(w, p)
			c.Curve = append(c.Curve, Band{X: float64(i), Mean: y, Lo: y * 0.96, Hi: y * 1.04, Extrapolated: i > 16})
			if i%4 == 0 && i <= 16 || i == 1 {
				m := y * (1 + 0.03*math.Sin(float64(i*k)))
				c.Points = append(c.Points, Point{X: float64(i), Y: m, Lo: m * 0.97, Hi: m * 1.03})
			}
		}
		s.Series = append(s.Series, c)
	}
	return s
}

func convergenceSample(points int) course {
	loss := func(k float64) float64 { return 1/(0.00021*k+0.35) + 0.31 }
	rng := rand.New(rand.NewPCG(1, 2))
	s := course{Title: "resnet18-cifar10", Subtitle: "run 1, global batch 512, fitted on the first 20k steps", XLabel: "step", YLabel: "loss"}
	for i := range points {
		k := 20000 * float64(i+1) / float64(points)
		s.Points = append(s.Points, Point{X: k, Y: loss(k) + 0.05*rng.NormFloat64()})
	}
	for k := 200.0; k <= 42000; k += 400 {
		spread := 0.02 + 0.0000035*math.Max(0, k-15000)
		s.Curve = append(s.Curve, Band{X: k, Mean: loss(k), Lo: loss(k) - spread, Hi: loss(k) + spread, Extrapolated: k > 20000})
	}
	target := 0.48
	s.Target, s.Crossing = &target, &data.Estimate{Mean: 26350, Lo: 23100, Hi: 33900}
	return s
}

func searchSample() []data.Measurement {
	rng := rand.New(rand.NewPCG(3, 4))
	var out []data.Measurement
	for i := 1; i <= 24; i++ {
		rate, status := 3000-2000*math.Exp(-float64(i)/6)*rng.Float64()-400*rng.Float64(), data.OK
		switch i {
		case 4, 9:
			status = data.OOM
		case 13:
			status = data.Failed
		case 17:
			rate = 3105
		}
		c := data.Config{Job: "resnet50-imagenet", GPUType: "a100", Workers: 8, LocalBatch: 96}
		out = append(out, data.Measurement{Config: c, StepTime: 8 * 96 / rate, Status: status})
	}
	return out
}

func allocationSample() (title, subtitle string, c *data.Cluster, p *data.Plan) {
	c = &data.Cluster{}
	for i := 1; i <= 3; i++ {
		c.Nodes = append(c.Nodes, data.Node{Name: fmt.Sprintf("a%02d", i), GPUType: "a100", GPUs: 8})
	}
	for i := 1; i <= 4; i++ {
		c.Nodes = append(c.Nodes, data.Node{Name: fmt.Sprintf("t%02d", i), GPUType: "t4", GPUs: 4, Drained: i == 4})
	}
	p = &data.Plan{Jobs: []data.PlannedJob{
		{Name: "resnet50", GPUType: "a100", Workers: 12, Placement: []data.NodeShare{{Node: "a01", Workers: 8}, {Node: "a02", Workers: 4}}},
		{Name: "bert-large", GPUType: "a100", Workers: 10, Placement: []data.NodeShare{{Node: "a02", Workers: 4}, {Node: "a03", Workers: 6}}},
		{Name: "deepspeech2", GPUType: "t4", Workers: 6, PS: 2, Placement: []data.NodeShare{{Node: "t01", Workers: 4, PS: 1}, {Node: "t02", Workers: 2, PS: 1}}},
		{Name: "yolov3", GPUType: "t4", Workers: 3, PS: 1, Placement: []data.NodeShare{{Node: "t02", Workers: 2, PS: 1}, {Node: "t03", Workers: 1}}},
		{Name: "ncf", GPUType: "t4", Workers: 1, Placement: []data.NodeShare{{Node: "t03", Workers: 1}}},
		{Name: "cifar10", Action: data.Pause},
	}}
	return "plan", "marginal-gain, objective jct: 32 of 40 GPUs used", c, p
}

func largeAllocationSample() (title, subtitle string, c *data.Cluster, p *data.Plan) {
	c, p = &data.Cluster{}, &data.Plan{}
	for i := range 64 {
		c.Nodes = append(c.Nodes, data.Node{Name: fmt.Sprintf("n%02d", i+1), GPUs: 8})
	}
	for i := range 20 {
		j := data.PlannedJob{Name: fmt.Sprintf("job-%02d", i+1), GPUType: "a100"}
		for k := range 3 {
			j.Placement = append(j.Placement, data.NodeShare{Node: c.Nodes[3*i+k].Name, Workers: 8 - 2*(k*i%3)})
			j.Workers += 8 - 2*(k*i%3)
		}
		p.Jobs = append(p.Jobs, j)
	}
	return "plan for 64 nodes", "marginal-gain, objective goodput", c, p
}

func simulationSample() []simulate.Replayed {
	rng := rand.New(rand.NewPCG(5, 6))
	var out []simulate.Replayed
	for i, p := range []string{"marginal-gain", "pollux", "optimus", "tiresias"} {
		r := simulate.Replayed{Policy: p, Workload: "replayed on measured profiles"}
		for range 160 {
			r.Outcomes = append(r.Outcomes, simulate.Outcome{End: 3600 * math.Exp(0.25*float64(i)-0.6+1.1*rng.NormFloat64())})
		}
		out = append(out, r)
	}
	return out
}

func efficiencySample() efficiency {
	scaling := ringSeries("a100, allreduce", 0.1, 0.05, []float64{1, 2, 4, 8}, 16, 0)
	cost := Series{Name: scaling.Name}
	alone := ring(1, 0.1, 0.05)
	for i := range scaling.Points {
		p := &scaling.Points[i]
		c := Point{X: p.X, Y: 900 * p.X / p.Y, Lo: 900 * p.X / p.Hi, Hi: 900 * p.X / p.Lo}
		cost.Points = append(cost.Points, c)
		p.Y, p.Lo, p.Hi = 100*p.Y/(p.X*alone), 100*p.Lo/(p.X*alone), 100*p.Hi/(p.X*alone)
	}
	for i := range scaling.Curve {
		b := &scaling.Curve[i]
		cost.Curve = append(cost.Curve, Band{X: b.X, Mean: 900 * b.X / b.Mean, Lo: 900 * b.X / b.Hi, Hi: 900 * b.X / b.Lo, Extrapolated: b.Extrapolated})
		b.Mean, b.Lo, b.Hi = 100*b.Mean/(b.X*alone), 100*b.Lo/(b.X*alone), 100*b.Hi/(b.X*alone)
	}
	return efficiency{Title: "What scaling costs: resnet50-imagenet", Subtitle: "a100, allreduce, 64 samples per worker",
		Scaling: []Series{scaling}, Cost: []Series{cost}, Unit: "US$"}
}

func batchSample() batch {
	b := batch{Title: "Choice of batch: resnet50-imagenet", Subtitle: "a100, allreduce, 8 workers"}
	best := 0.0
	for m := 256.0; m <= 8192; m *= 1.4 {
		rate := m / (0.08 + m/9000)
		worth := (3000 + 256) / (3000 + m)
		b.Throughput = append(b.Throughput, Band{X: m, Mean: rate, Lo: 0.95 * rate, Hi: 1.06 * rate})
		b.Goodput = append(b.Goodput, Band{X: m, Mean: rate * worth, Lo: 0.9 * rate * worth, Hi: 1.1 * rate * worth})
		b.Efficiency = append(b.Efficiency, Band{X: m, Mean: 100 * worth, Lo: 95 * worth, Hi: math.Min(100, 104*worth)})
		if rate*worth > best {
			best, b.Best = rate*worth, m
		}
	}
	return b
}

func heatSample() heatMap {
	h := heatMap{Title: "Throughput of resnet50-imagenet", Subtitle: "a100, allreduce", XLabel: "workers", YLabel: "local batch", Label: "throughput (samples/s)"}
	for _, k := range []float64{1, 2, 4, 8, 16} {
		for _, b := range []float64{16, 32, 64, 128} {
			h.Cells = append(h.Cells, cell{X: k, Y: b, Value: k * b / (0.02 + b/900 + 0.004*k), Measured: int(k*b)%64 == 0, Best: k == 16 && b == 128})
		}
	}
	return h
}

// surrogateSample knows little where it measured nothing.
func surrogateSample() surrogate {
	next := 16.0
	s := surrogate{Title: "What the search of resnet50 predicts", Subtitle: "everything but workers as in 8 × a100, allreduce, batch 64",
		Knob: "workers", Objective: "throughput (samples/s)", Next: &next}
	for i, k := range []float64{1, 2, 4, 8, 16, 32} {
		y, spread := ring(k, 0.1, 0.05), 0.04+0.03*float64(i%2)+0.06*math.Max(0, float64(i-3))
		s.Prediction = append(s.Prediction, Band{X: k, Mean: y, Lo: y * (1 - spread), Hi: y * (1 + spread)})
		s.Gain = append(s.Gain, Band{X: k, Mean: 25 * math.Exp(-math.Abs(k-16)/6)})
		switch i {
		case 0, 2, 3:
			s.Points = append(s.Points, Point{X: k, Y: y * (1 + 0.02*float64(i-1))})
			s.Gain[i].Mean = 0
		case 5:
			s.Points = append(s.Points, Point{X: k, Status: data.OOM})
			s.Gain[i].Mean = 0
		}
	}
	return s
}

func clusterValueSample() (points []plan.CurvePoint) {
	for i, gpu := range []string{"a100", "t4"} {
		last, before := 0.0, 0
		for _, n := range []int{1, 2, 4, 7, 8, 9, 12, 16} {
			p := plan.CurvePoint{GPUType: gpu, Nodes: n, Now: n == 8, Outcome: plan.Outcome{Feasible: n > 1 || i == 0, Value: (60 - 25*float64(i)) * (1 - math.Exp(-float64(n)/5))}}
			p.Bound = 1.01 * p.Value
			if n > 1 {
				p.PerNode = (p.Value - last) / float64(n-before)
			}
			last, before = p.Value, n
			points = append(points, p)
		}
	}
	return points
}

// occupancySample fills a cluster of 64 to different degrees, with as many
// changes.
func occupancySample(changes int) (runs []simulate.Replayed) {
	rng := rand.New(rand.NewPCG(7, 8))
	for i, policy := range []string{"fifo", "srtf", "knee"} {
		r := simulate.Replayed{Workload: "160 jobs on 64 GPUs", Policy: policy, GPUs: 64}
		for k := range changes {
			t := float64(k) / float64(changes)
			busy := math.Min(64, math.Round((40+15*float64(i))*math.Sin(math.Pi*math.Sqrt(t))+10*rng.Float64()))
			r.History = append(r.History, simulate.Usage{At: 3600 * 10 * t * (1.1 - 0.1*float64(i)), GPUs: int(busy), Waiting: int(math.Round(12 * t * (1 - t) * float64(4-i)))})
		}
		r.History = append(r.History, simulate.Usage{At: 3600 * 10 * (1.15 - 0.1*float64(i))})
		runs = append(runs, r)
	}
	return runs
}

// gainsSample gives every next worker to the job that gains most, of jobs that
// scale by different powers.
func gainsSample(jobs, slots int) gains {
	g := gains{Title: "What further workers are worth", Subtitle: fmt.Sprintf("%d jobs on a100, marginal-gain, objective jct", jobs), Objective: "jct", GPUType: "a100", Slots: slots}
	value := func(i, w int) float64 {
		return math.Pow(float64(w), 0.3+0.45*float64(i*7%jobs)/float64(jobs)) * (1 + float64(i%3))
	}
	left := slots
	for i := range jobs {
		g.Jobs = append(g.Jobs, plan.Staircase{Job: fmt.Sprintf("job-%02d", i+1), GPUType: "a100", Least: 1 + i%2, Workers: 1 + i%2})
		left -= 1 + i%2
	}
	for ; left > 0; left-- {
		best := 0
		for i, j := range g.Jobs {
			if b := g.Jobs[best]; value(i, j.Workers+1)-value(i, j.Workers) > value(best, b.Workers+1)-value(best, b.Workers) {
				best = i
			}
		}
		g.Jobs[best].Workers++
	}
	for i := range g.Jobs {
		j := &g.Jobs[i]
		for w := j.Least; w < j.Workers+6; w++ {
			j.Steps = append(j.Steps, plan.Step{From: w, To: w + 1, Gain: value(i, w+1) - value(i, w), Given: w < j.Workers, Goodput: 900 * value(i, w+1)})
		}
	}
	return g
}
