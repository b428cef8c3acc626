package plan

import (
	"fmt"
	"math"
	"math/rand/v2"
	"runtime"
	"testing"

	"knee/allocate"
	"knee/allocate/place"
	"knee/allocate/solve"
	"knee/data"
	"knee/predict"
)

// generated is the oracle of a made-up job. Its laws are those of the speed
// models of package fit: a step takes compute plus communication,
//
//	T = acc + net · (1 + growth·(k−2)) · (cross if on several nodes),  0 if k = 1
//
// with the worker's compute scaled by the GPU type, k/p in place of growth
// where there are parameter servers, and statistical efficiency
// (φ + M0)/(φ + M).
type generated struct {
	speed                    map[string]float64 // of a GPU type, relative to a t4
	acc, net, growth, cross  float64            // s, s, 1/worker, factor
	batch, noise, work, cost float64            // samples per worker, φ in samples, samples left, US$ per worker-hour
	ps                       bool
}

func (g generated) At(c data.Config) (predict.Answer, error) {
	k := float64(c.Workers)
	t := g.acc / g.speed[c.GPUType]
	if c.Workers > 1 {
		net := g.net * (1 + g.growth*(k-2))
		if g.ps {
			net = g.net * (0.5 + k/float64(c.PS))
		}
		if c.NodeCount() > 1 {
			net *= g.cross
		}
		t += net
	}
	m := k * g.batch
	through := m / t
	good := through * (g.noise + g.batch) / (g.noise + m)
	around := func(v float64) data.Estimate { return data.Estimate{Mean: v, Lo: 0.9 * v, Hi: 1.1 * v} }
	c.LocalBatch = g.batch
	a := predict.Answer{Config: c, StepTime: around(t), Throughput: around(through), Goodput: around(good),
		TimeToTarget: around(g.work / good), PricePerHour: g.cost * g.speed[c.GPUType] * k}
	a.CostToTarget = a.TimeToTarget.Scale(a.PricePerHour / 3600)
	return a, nil
}

func (g generated) BestBatch(c data.Config) (predict.Answer, error) { return g.At(c) }
func (g generated) GPUTypes() []string                              { return []string{"t4", "v100", "a100"} }
func (g generated) Modes(string) []data.Mode {
	if g.ps {
		return []data.Mode{data.PSSync}
	}
	return []data.Mode{data.AllReduce}
}

// logUniform draws a number from lo to hi, every octave alike.
func logUniform(r *rand.Rand, lo, hi float64) float64 {
	return lo * math.Pow(hi/lo, r.Float64())
}

// generate draws a cluster of four nodes per job (half of them 4 × t4, a
// quarter 8 × v100, a quarter 8 × a100, with cores and memory) and jobs of
// up to 64 workers, a quarter of them with parameter servers. Compute per
// step lies between 20 ms and 1 s, communication between 1 % and 60 % of
// it, the noise scale between 0.5 and 200 initial batches, and the work left
// between ten minutes and three days of one t4. Thousands of jobs of this
// kind have about 25 workers and servers each.
func generate(jobs int, seed uint64) (Problem, []oracle) {
	r := rand.New(rand.NewPCG(seed, 1))
	c := &data.Cluster{}
	add := func(name string, count, gpus int, cores float64) {
		for i := range count {
			c.Nodes = append(c.Nodes, data.Node{Name: fmt.Sprintf("%s-%05d", name, i), GPUType: name, GPUs: gpus, CPUs: cores, Memory: int64(cores) << 33})
		}
	}
	add("t4", 2*jobs, 4, 32)
	add("v100", jobs, 8, 64)
	add("a100", jobs, 8, 96)
	pr := Problem{Cluster: c}
	var oracles []oracle
	for i := range jobs {
		v := 2 + 1.5*r.Float64()
		g := generated{speed: map[string]float64{"t4": 1, "v100": v, "a100": v * (1.2 + r.Float64())},
			acc: logUniform(r, 0.02, 1), growth: logUniform(r, 0.002, 0.1), cross: 1 + 2*r.Float64(), ps: i%4 == 3,
			batch: math.Round(logUniform(r, 8, 256)), cost: 0.5}
		g.net = g.acc * logUniform(r, 0.01, 0.6)
		g.noise = g.batch * logUniform(r, 0.5, 200)
		g.work = g.batch / g.acc * logUniform(r, 600, 3*86400)
		job := data.Job{Name: fmt.Sprintf("job%05d", i), Workers: data.IntRange{Min: 1 + r.IntN(2), Max: 64}, RestartSeconds: 30,
			Batch:     data.Batch{Initial: g.batch, Adapt: true},
			Resources: data.Resources{Worker: data.Need{CPUs: float64(1 + r.IntN(4)), Memory: int64(8+8*r.IntN(3)) << 30}, PS: data.Need{CPUs: 1, Memory: 4 << 30}}}
		if g.ps {
			job.PS = data.IntRange{Min: 1, Max: 4 + r.IntN(12)}
		}
		pr.Jobs, oracles = append(pr.Jobs, job), append(oracles, g)
	}
	return pr, oracles
}

// BenchmarkScale prints what allocation and placement take as the cluster
// grows, four nodes per job: milliseconds by the clock and of processor time,
// megabytes of the process, workers and parameter servers placed, and the gap
// of what was placed to the bound. The option tables, which are predictions,
// are made beforehand. The yardstick is
// Optimus (EuroSys 2018, section 6.5): 4,000 jobs on 16,000 nodes of one
// kind in about 5 s.
func BenchmarkScale(b *testing.B) {
	for _, jobs := range []int{100, 1000, 4000, 10000} {
		b.Run(fmt.Sprintf("jobs=%d", jobs), func(b *testing.B) {
			runtime.GOMAXPROCS(1)
			defer runtime.GOMAXPROCS(runtime.NumCPU())
			pr, oracles := generate(jobs, 1)
			p, err := prepare(pr, oracles)
			if err != nil {
				b.Fatal(err)
			}
			runtime.GC()
			var a solve.Solution
			var placed []place.Placed
			b.ReportAllocs()
			began := processorSeconds()
			for b.Loop() {
				if a, err = solve.Maximise(p.state); err != nil {
					b.Fatal(err)
				}
				placed, _ = place.All(p.state, a.Assignment, p.standing, nil)
			}
			b.ReportMetric(1000*(processorSeconds()-began)/float64(b.N), "ms-cpu/op")
			report(b, p, a, placed)
		})
	}
}

// BenchmarkQuotas prints the processor time of solving and placing jobs of ten
// tenants, each with a quarter of the GPUs, on nodes of uneven size, where some jobs
// fall back.
func BenchmarkQuotas(b *testing.B) {
	for _, jobs := range []int{100, 1000, 4000} {
		b.Run(fmt.Sprintf("jobs=%d", jobs), func(b *testing.B) {
			pr, oracles := generate(jobs, 1)
			var kept []data.Node
			for i := 0; i < len(pr.Cluster.Nodes); i += 6 {
				n := pr.Cluster.Nodes[i]
				n.GPUs -= i / 6 % 3
				kept = append(kept, n)
			}
			pr.Cluster.Nodes = kept
			for i := range pr.Jobs {
				pr.Jobs[i].Tenant = fmt.Sprint("tenant", i%10)
			}
			for i := range 10 {
				pr.Tenants = append(pr.Tenants, data.Tenant{Name: fmt.Sprint("tenant", i), Quota: map[string]int{"t4": jobs / 4, "v100": jobs / 4, "a100": jobs / 4}})
			}
			p, err := prepare(pr, oracles)
			if err != nil {
				b.Fatal(err)
			}
			var a solve.Solution
			var placed []place.Placed
			began := processorSeconds()
			for b.Loop() {
				if a, err = solve.Maximise(p.state); err != nil {
					b.Fatal(err)
				}
				placed, _ = place.All(p.state, a.Assignment, p.standing, nil)
			}
			b.ReportMetric(1000*(processorSeconds()-began)/float64(b.N), "ms-cpu/op")
			report(b, p, a, placed)
		})
	}
}

func report(b *testing.B, p *prepared, a solve.Solution, placed []place.Placed) {
	var tasks, noted int
	var value float64
	for i, x := range placed {
		if x.Reason != "" {
			noted++
		}
		if x.Choice == allocate.None {
			value += p.state.Jobs[i].Idle
			continue
		}
		value += x.Option.Value
		tasks += x.Option.Config.Workers + x.Option.Config.PS
	}
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	b.ReportMetric(float64(tasks), "tasks")
	b.ReportMetric(float64(noted), "fallbacks")
	b.ReportMetric(100*(a.RunningBound-value)/a.RunningBound, "%gap")
	b.ReportMetric(100*(a.RunningBound-a.Value)/a.RunningBound, "%gap-unplaced")
	b.ReportMetric(float64(m.Sys)/(1<<20), "MB-process")
	b.ReportMetric(float64(b.Elapsed().Milliseconds())/float64(b.N), "ms/op")
}
