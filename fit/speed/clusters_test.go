package speed_test

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"knee/data"
	"knee/fit/speed"
)

// cluster simulates a cluster and job with other physics than the form: a step
// is at least as long as its launches, input may be too slow, part of the
// communication overlaps, links between nodes congest, and waiting for the
// slowest worker grows with the logarithm of the workers.
type cluster struct {
	fixed, perSample, launch        float64 // s
	bytes, inside, between, latency float64 // of a gradient; bytes/s; s
	overlap, slowest, congestion    float64
	input                           float64 // samples/s of a node
	storage                         float64 // samples/s of all nodes; 0: no limit
	noise                           float64 // sd of ln step time
	start                           int     // fewest workers
	batch                           float64 // samples per worker at the start
	placed                          bool    // the number of nodes is recorded
}

func drawCluster(r *rand.Rand) cluster {
	between := func(lo, hi float64) float64 { return lo * math.Pow(hi/lo, r.Float64()) }
	c := cluster{
		perSample: between(1e-4, 3e-2), launch: between(1e-3, 5e-2),
		bytes: between(2e7, 2e10), inside: between(1e10, 4e11), between: between(1e9, 1e11), latency: between(5e-6, 5e-5),
		overlap: r.Float64(), slowest: between(.002, .05), congestion: between(.001, .1),
		input: math.Inf(1), noise: .003 + .03*r.Float64(),
		start: 1 << r.IntN(5), batch: math.Round(between(64, 4096)), placed: r.IntN(2) == 0,
	}
	c.fixed = c.perSample * between(.05, 3)
	if r.Float64() < .15 {
		c.input = between(.5, 3) * gpusPerNode / c.perSample
	}
	return c
}

const gpusPerNode = 8

func (c cluster) step(workers int, batch float64, r *rand.Rand) float64 {
	n, wide, nodes := float64(workers), float64(min(workers, gpusPerNode)), math.Ceil(float64(workers)/gpusPerNode)
	compute := max(c.launch, c.fixed+c.perSample*batch, batch*wide/c.input)
	comm := 0.
	if wide > 1 {
		comm += 2*c.bytes*(wide-1)/wide/c.inside + 2*wide*c.latency
	}
	if nodes > 1 {
		comm += 2*c.bytes*(nodes-1)/nodes/c.between/wide*(1+c.congestion*math.Log2(nodes)) + 8*c.latency*math.Log2(nodes)
	}
	hidden := min(c.overlap*comm, .7*compute)
	step := (compute + comm - hidden) * (1 + c.slowest*math.Log(n))
	if c.storage > 0 {
		step = max(step, batch*n/c.storage)
	}
	return step * math.Exp(c.noise*r.NormFloat64())
}

// BenchmarkClusters predicts larger sizes of simulated jobs from their two to
// four smallest, each twice the previous, with a fixed global or local batch,
// whether the measurements name it or not.
// It compares the mean error with a power law through all sizes, Amdahl's law
// through the first and the last, and linear scaling from the last.
func BenchmarkClusters(b *testing.B) {
	for _, fixed := range []string{"global", "local"} {
		for _, rows := range []int{2, 3, 4} {
			for _, times := range []int{2, 8} {
				for _, batch := range []string{"named", "unknown"} {
					b.Run(fmt.Sprintf("%s-batch-fixed/%s/rows=%d/times=%d", fixed, batch, rows, times), func(b *testing.B) {
						for b.Loop() {
							reportClusters(b, fixed == "global", batch == "named", rows, times)
						}
						b.ReportMetric(0, "ns/op")
					})
				}
			}
		}
	}
}

func reportClusters(b *testing.B, globalFixed, named bool, rows, times int) {
	const jobs = 200
	r := rand.New(rand.NewPCG(1, uint64(rows)))
	var sum struct{ knee, power, amdahl, linear, inside float64 }
	for range jobs {
		c := drawCluster(r)
		config := func(workers int) data.Config {
			out := data.Config{Job: "job", GPUType: "a100", Workers: workers, LocalBatch: c.batch}
			if globalFixed {
				out.LocalBatch *= float64(c.start) / float64(workers)
			}
			if c.placed {
				out.Nodes = (workers + gpusPerNode - 1) / gpusPerNode
			}
			return out
		}
		var ms []data.Measurement
		for i := range rows {
			at := config(c.start << i)
			ms = append(ms, data.Measurement{Config: at, StepTime: c.step(at.Workers, at.LocalBatch, r), Status: data.OK})
		}
		first, last := ms[0], ms[rows-1]
		at := config(last.Workers * times)
		truth := c.step(at.Workers, at.LocalBatch, r)
		if !named {
			at.LocalBatch = 0
			for i := range ms {
				ms[i].LocalBatch = 0
			}
		}
		m, err := speed.Fit(context.Background(), ms, speed.Settings{})
		if err != nil {
			b.Fatal(err)
		}
		p, err := m.Predict(at)
		if err != nil {
			b.Fatal(err)
		}
		err1 := func(v float64) float64 { return 100. / jobs * math.Abs(v/truth-1) }
		linear := last.StepTime
		if globalFixed {
			linear /= float64(times)
		}
		sum.knee += err1(p.StepTime.Mean)
		sum.linear += err1(linear)
		sum.power += err1(powerLaw(ms, at.Workers))
		sum.amdahl += err1(amdahl(first, last, at.Workers))
		if p.StepTime.Lo <= truth && truth <= p.StepTime.Hi {
			sum.inside += 100. / jobs
		}
	}
	b.ReportMetric(sum.knee, "error-%")
	b.ReportMetric(sum.power, "power-law-%")
	b.ReportMetric(sum.amdahl, "amdahl-%")
	b.ReportMetric(sum.linear, "linear-%")
	b.ReportMetric(sum.inside, "inside-%")
}

// BenchmarkStorage predicts twice the workers at a fixed local batch, where the
// last one, two or three of six sizes wait for storage that all workers share.
// It compares the mean error with a line through the last two step times and
// with linear scaling.
func BenchmarkStorage(b *testing.B) {
	for _, seen := range []int{1, 2, 3} {
		b.Run(fmt.Sprintf("seen=%d", seen), func(b *testing.B) {
			for b.Loop() {
				const jobs, sizes = 100, 6
				r := rand.New(rand.NewPCG(2, uint64(seen)))
				var knee, line, linear, inside float64
				for range jobs {
					c := drawCluster(r)
					c.start, c.input = 1, math.Inf(1)
					free := c
					free.noise = 0
					full := float64(int(1) << (sizes - seen)) // first size that waits, by .1 to .9 of a doubling
					c.storage = full * c.batch / free.step(int(full), c.batch, r) * math.Pow(2, -.1-.8*r.Float64())
					config := func(workers int) data.Config {
						return data.Config{Job: "job", GPUType: "a100", Workers: workers, LocalBatch: c.batch, Nodes: (workers + gpusPerNode - 1) / gpusPerNode}
					}
					var ms []data.Measurement
					for i := range sizes {
						ms = append(ms, data.Measurement{Config: config(1 << i), StepTime: c.step(1<<i, c.batch, r), Status: data.OK})
					}
					m, err := speed.Fit(context.Background(), ms, speed.Settings{})
					if err != nil {
						b.Fatal(err)
					}
					p, err := m.Predict(config(1 << sizes))
					if err != nil {
						b.Fatal(err)
					}
					truth, last := c.step(1<<sizes, c.batch, r), ms[sizes-1].StepTime
					knee += 100. / jobs * math.Abs(p.StepTime.Mean/truth-1)
					line += 100. / jobs * math.Abs((last+2*(last-ms[sizes-2].StepTime))/truth-1)
					linear += 100. / jobs * math.Abs(last/truth-1)
					if p.StepTime.Lo <= truth && truth <= p.StepTime.Hi {
						inside += 100. / jobs
					}
				}
				b.ReportMetric(knee, "error-%")
				b.ReportMetric(line, "line-%")
				b.ReportMetric(linear, "linear-%")
				b.ReportMetric(inside, "inside-%")
			}
			b.ReportMetric(0, "ns/op")
		})
	}
}

// BenchmarkWhatIf asks of simulated jobs, of which 10 or 20 of 24 sizes and batches were
// measured, how much faster steps become on larger ones: mean error of the speedup,
// beside that of no speedup, and share inside the interval.
func BenchmarkWhatIf(b *testing.B) {
	faster := map[string]func(c *cluster){
		"inter_node": func(c *cluster) { c.between *= 2 },
		"compute": func(c *cluster) {
			c.fixed, c.perSample, c.launch, c.input = c.fixed/2, c.perSample/2, c.launch/2, c.input*2
		},
	}
	for _, what := range []string{"inter_node", "compute"} {
		for _, rows := range []int{10, 20} {
			b.Run(fmt.Sprintf("%s/rows=%d", what, rows), func(b *testing.B) {
				for b.Loop() {
					const jobs = 200
					r := rand.New(rand.NewPCG(3, uint64(rows)))
					var knee, none, inside float64
					for range jobs {
						c := drawCluster(r)
						c.noise = .003 + .01*r.Float64()
						config := func(workers int, batch float64) data.Config {
							return data.Config{Job: "job", GPUType: "a100", Workers: workers, LocalBatch: batch, Nodes: (workers + gpusPerNode - 1) / gpusPerNode}
						}
						var ms []data.Measurement
						for _, at := range r.Perm(24)[:rows] {
							workers, batch := 1<<(at%6), c.batch*float64(int(1)<<(at/6))
							ms = append(ms, data.Measurement{Config: config(workers, batch), StepTime: c.step(workers, batch, r), Status: data.OK})
						}
						m, err := speed.Fit(context.Background(), ms, speed.Settings{})
						if err != nil {
							b.Fatal(err)
						}
						changed, err := m.WhatIf([]speed.Change{{Parameter: what, Factor: .5}})
						if err != nil {
							b.Fatal(err)
						}
						p, err := m.Speedup(changed, config(64, 2*c.batch))
						if err != nil {
							b.Fatal(err)
						}
						c.noise = 0
						then := c
						faster[what](&then)
						truth := c.step(64, 2*c.batch, r) / then.step(64, 2*c.batch, r)
						knee += 100. / jobs * math.Abs(p.Mean/truth-1)
						none += 100. / jobs * math.Abs(1/truth-1)
						if p.Lo <= truth*1.001 && truth <= p.Hi*1.001 { // no speedup is one of 1
							inside += 100. / jobs
						}
					}
					b.ReportMetric(knee, "error-%")
					b.ReportMetric(none, "no-speedup-%")
					b.ReportMetric(inside, "inside-%")
				}
				b.ReportMetric(0, "ns/op")
			})
		}
	}
}

// powerLaw is the least-squares line of ln step time over ln workers.
func powerLaw(ms []data.Measurement, workers int) float64 {
	var x, y, xx, xy float64
	n := float64(len(ms))
	for _, m := range ms {
		u, v := math.Log(float64(m.Workers)), math.Log(m.StepTime)
		x, y, xx, xy = x+u/n, y+v/n, xx+u*u/n, xy+u*v/n
	}
	slope := (xy - x*y) / (xx - x*x)
	return math.Exp(y + slope*(math.Log(float64(workers))-x))
}

// amdahl is a + b/workers with a, b ≥ 0 through two measurements.
func amdahl(first, last data.Measurement, workers int) float64 {
	b := (first.StepTime - last.StepTime) / (1/float64(first.Workers) - 1/float64(last.Workers))
	a := last.StepTime - b/float64(last.Workers)
	switch {
	case b < 0:
		return last.StepTime
	case a < 0:
		return last.StepTime * float64(last.Workers) / float64(workers)
	}
	return a + b/float64(workers)
}
