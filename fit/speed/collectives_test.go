package speed_test

import (
	"context"
	"fmt"
	"maps"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"knee/data"
	"knee/fit/prior"
	"knee/fit/speed"
	"knee/fit/speed/form"
	"knee/internal/bench"
)

// fabric holds measured times of collectives in one node, in seconds, by operation, GPUs
// and bytes.
type fabric struct {
	gpu   string
	times map[string]map[int][][2]float64 // of each operation and number of GPUs: bytes and seconds, sorted
}

// fabrics returns one fabric of each GPU type.
func fabrics(tb testing.TB) []fabric {
	files, err := filepath.Glob(filepath.Join(bench.Dir(tb), "scaling", "nccl", "*.csv"))
	if err != nil || len(files) == 0 {
		tb.Skipf("no measured collectives: %v", err)
	}
	var all []fabric
	for _, name := range files {
		kind, _, _ := strings.Cut(filepath.Base(name), "-")
		gpu := data.GPUTypeOf(strings.TrimSuffix(strings.TrimSuffix(kind, "_sxm"), "_server"))
		if n := len(all); n > 0 && all[n-1].gpu == gpu {
			all = all[:n-1] // an older version of the library
		}
		file, err := os.Open(name)
		if err != nil {
			tb.Fatal(err)
		}
		f := fabric{gpu, map[string]map[int][][2]float64{}}
		err = data.EachRow(file, name, []string{"op_name", "nccl_dtype", "num_gpus", "message_size", "latency"}, func(r *data.Row) error {
			op, gpus := r.Cell("op_name"), r.Whole("num_gpus", 1)
			if r.Cell("nccl_dtype") != "half" {
				return nil
			}
			if f.times[op] == nil {
				f.times[op] = map[int][][2]float64{}
			}
			at := [2]float64{2 * r.Required("message_size", data.Positive("elements")), r.Required("latency", data.Positive("milliseconds")) / 1e3}
			f.times[op][gpus] = append(f.times[op][gpus], at)
			return r.Err()
		})
		if err != nil {
			tb.Fatal(err)
		}
		file.Close()
		for _, byGPUs := range f.times {
			for _, points := range byGPUs {
				slices.SortFunc(points, func(a, b [2]float64) int { return int(a[0] - b[0]) })
			}
		}
		all = append(all, f)
	}
	return all
}

// allReduce interpolates the time of all-reduce, beyond the largest message at its
// bandwidth.
func (f fabric) allReduce(gpus int, bytes float64) float64 {
	points := f.times["all_reduce"][gpus]
	if gpus == 1 || bytes <= 0 {
		return 0
	}
	i, _ := slices.BinarySearchFunc(points, bytes, func(p [2]float64, b float64) int { return int(p[0] - b) })
	switch {
	case i == 0:
		return points[0][1]
	case i == len(points):
		return points[i-1][1] * bytes / points[i-1][0]
	}
	a, b := points[i-1], points[i]
	return a[1] * math.Pow(b[1]/a[1], math.Log(bytes/a[0])/math.Log(b[0]/a[0]))
}

// BenchmarkCollectives predicts made-up jobs whose collectives take measured times. A job
// of data parallelism reduces gradients in buckets of 25 MB, of which a part overlaps with
// computing.
func BenchmarkCollectives(b *testing.B) {
	for _, f := range fabrics(b) {
		for _, known := range [][]int{{1, 2}, {1, 2, 4}} {
			asked := []int{4, 8}
			if len(known) == 3 {
				asked = asked[1:]
			}
			if f.times["all_reduce"][asked[len(asked)-1]] == nil {
				continue
			}
			b.Run(fmt.Sprintf("%s/known=%d", f.gpu, len(known)), func(b *testing.B) {
				for b.Loop() {
					const jobs = 60
					r := rand.New(rand.NewPCG(3, 3))
					between := func(lo, hi float64) float64 { return lo * math.Pow(hi/lo, r.Float64()) }
					var knee, linear, inside, n float64
					for range jobs {
						const bucket = 25e6
						gradient := between(2e7, 4e9)
						comm := func(gpus int) float64 {
							return gradient / bucket * f.allReduce(gpus, bucket)
						}
						compute := comm(2) / between(.03, 1)
						hidden, weak, batch := r.Float64(), r.IntN(2) == 0, float64(int(8)<<r.IntN(5))
						launch := compute * between(.01, .3)
						row := func(gpus int) data.Measurement {
							local := batch
							if !weak {
								local /= float64(gpus)
							}
							work := launch + (compute-launch)*local/batch
							step := work + comm(gpus) - min(hidden*comm(gpus), .67*work)
							return data.Measurement{Status: data.OK, StepTime: step * math.Exp(.01*r.NormFloat64()),
								Config: data.Config{Job: "j", GPUType: f.gpu, Workers: gpus, Nodes: 1, LocalBatch: local}}
						}
						var ms []data.Measurement
						for _, k := range known {
							ms = append(ms, row(k))
						}
						m, err := speed.Fit(context.Background(), ms, speed.Settings{})
						if err != nil {
							b.Fatal(err)
						}
						last := ms[len(ms)-1]
						for _, k := range asked {
							truth := row(k)
							p, err := m.Predict(truth.Config)
							if err != nil {
								b.Fatal(err)
							}
							n++
							knee += 100 * math.Abs(p.StepTime.Mean/truth.StepTime-1)
							linear += 100 * math.Abs(last.StepTime*truth.LocalBatch/last.LocalBatch/truth.StepTime-1)
							if p.StepTime.Lo <= truth.StepTime && truth.StepTime <= p.StepTime.Hi {
								inside += 100
							}
						}
					}
					b.ReportMetric(knee/n, "error-%")
					b.ReportMetric(linear/n, "linear-%")
					b.ReportMetric(inside/n, "inside-%")
				}
				b.ReportMetric(0, "ns/op")
			})
		}
	}
}

// BenchmarkCollectiveLayouts predicts the layouts of made-up transformers on a node of eight
// GPUs from eight random ones on two to eight.
func BenchmarkCollectiveLayouts(b *testing.B) {
	for _, f := range fabrics(b) {
		if f.times["all_reduce"][8] == nil {
			continue
		}
		b.Run(f.gpu, func(b *testing.B) {
			for b.Loop() {
				const jobs, known = 60, 8
				r := rand.New(rand.NewPCG(4, 4))
				var off, inside, n, longer float64
				for range jobs {
					all := f.layouts(b, r)
					r.Shuffle(len(all), func(i, j int) { all[i], all[j] = all[j], all[i] })
					m, err := speed.Fit(context.Background(), all[:known], speed.Settings{})
					if err != nil {
						b.Fatal(err)
					}
					best, chosen, least := math.Inf(1), 0., math.Inf(1)
					for _, truth := range all[known:] {
						if truth.Workers < 8 {
							continue
						}
						p, err := m.Predict(truth.Config)
						if err != nil {
							b.Fatal(err)
						}
						n++
						off += 100 * math.Abs(p.StepTime.Mean/truth.StepTime-1)
						if p.StepTime.Lo <= truth.StepTime && truth.StepTime <= p.StepTime.Hi {
							inside += 100
						}
						best = min(best, truth.StepTime)
						if p.StepTime.Mean < least {
							least, chosen = p.StepTime.Mean, truth.StepTime
						}
					}
					longer += chosen / best / jobs
				}
				b.ReportMetric(off/n, "error-%")
				b.ReportMetric(inside/n, "inside-%")
				b.ReportMetric(longer, "longer")
			}
			b.ReportMetric(0, "ns/op")
		})
	}
}

// layouts returns every layout of a random transformer on two, four and eight GPUs, with
// full recomputation, as far as micro-batches of 1 to 8 divide the global batch.
func (f fabric) layouts(tb testing.TB, r *rand.Rand) (all []data.Measurement) {
	gpu, known := data.FindGPU(f.gpu)
	if !known {
		tb.Fatalf("unknown GPU %s", f.gpu)
	}
	between := func(lo, hi float64) float64 { return lo * math.Pow(hi/lo, r.Float64()) }
	size := data.Architecture{Layers: 8 << r.IntN(3), Hidden: 1024 << r.IntN(4), SeqLen: 1024 << r.IntN(3), Vocab: 51200}
	share, small, launch, global := between(.35, .65), between(50, 1000), between(5e-5, 4e-4), float64(int(32)<<r.IntN(4))
	for _, workers := range []int{2, 4, 8} {
		for tp := 1; tp <= workers; tp *= 2 {
			for pp := 1; tp*pp <= workers; pp *= 2 {
				for batch := 1.; batch <= 8; batch *= 2 {
					dp := workers / tp / pp
					micro := global / float64(dp) / batch
					if micro < 1 {
						continue
					}
					layers, tokens := float64(size.Layers/pp), batch*float64(size.SeqLen)
					work := 12 * float64(size.Hidden*size.Hidden) * tokens / float64(tp) // multiplications of a layer, forward
					layer := max(8*work/(gpu.TFLOPS*1e12*share)*(1+small/(tokens/float64(tp))), 4*launch)
					message := 2 * tokens * float64(size.Hidden)
					stage := layers * (layer + 6*f.allReduce(tp, message))
					if pp > 1 {
						stage += f.allReduce(2, message/float64(tp))
					}
					gradients := f.allReduce(dp, 24*float64(size.Hidden*size.Hidden)*layers/float64(tp))
					step := (micro+float64(pp)-1)*stage + max(gradients-stage/2, gradients/4) + launch*float64(size.Layers)
					all = append(all, data.Measurement{Status: data.OK, StepTime: step * math.Exp(.01*r.NormFloat64()), Config: data.Config{
						Job: "j", GPUType: f.gpu, Workers: workers, Nodes: 1, LocalBatch: batch, AccumSteps: int(micro) - 1,
						Layout: data.Layout{TP: tp, PP: pp, Recompute: "full"}, Architecture: size,
					}})
				}
			}
		}
	}
	return all
}

// The prior of the growth inside a node holds what was measured: the power of all-reduces of
// 64 MB beyond a ring's, from two GPUs to all.
func TestIntraPower(t *testing.T) {
	for _, f := range fabrics(t) {
		gpu, _ := data.FindGPU(f.gpu)
		p := prior.Default().Forms[form.CollectiveFamily]["intra_power"]
		if gpu.Link > 0 {
			p.Mean += p.NVLink
		}
		of := func(n float64) float64 { return f.allReduce(int(n), 64e6) / (2 * (n - 1) / n) }
		most := float64(slices.Max(slices.Collect(maps.Keys(f.times["all_reduce"]))))
		power := math.Log(of(most)/of(2)) / math.Log(most/2)
		t.Logf("%s: %.2f, prior %.2f to %.2f", f.gpu, power, math.Exp(p.Mean-2*p.SD), math.Exp(p.Mean+2*p.SD))
		if power > math.Exp(p.Mean+2*p.SD) {
			t.Errorf("%s: the power is %.2f", f.gpu, power)
		}
	}
}
