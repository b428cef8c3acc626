package main

import (
	"bytes"
	"context"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"testing"

	"knee/data"
	"knee/fit"
)

// BenchmarkAllocate prints how long knee allocate takes from files to plan:
// 4,000 jobs of 1 to 64 workers on 16,000 nodes of four T4, with three models
// of 16 measurements for all, with a model for each job, with batches that may
// not change, and with one change of the cluster beside the plan.
func BenchmarkAllocate(b *testing.B) {
	for _, tt := range []struct {
		name       string
		own, fixed bool
		args       []string
	}{{name: "three-models"}, {name: "a-model-per-job", own: true}, {name: "fixed-batch", fixed: true}, {name: "what-if", args: []string{"--what-if", "+100 t4"}}} {
		b.Run(tt.name, func(b *testing.B) {
			dir := b.TempDir()
			cluster, jobs := writeScale(b, dir, tt.own, tt.fixed)
			var lines int
			for b.Loop() {
				var stdout, stderr bytes.Buffer
				if err := run(context.Background(), &stdout, &stderr, append([]string{"allocate", "--cluster", cluster, "--jobs", jobs}, tt.args...)); err != nil {
					b.Fatal(err)
				}
				lines = bytes.Count(stderr.Bytes(), []byte("warning: "))
			}
			b.ReportMetric(float64(lines), "warnings")
		})
	}
}

// writeScale writes the files of BenchmarkAllocate.
func writeScale(b *testing.B, dir string, own, fixed bool) (cluster, jobs string) {
	write := func(name, text string) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			b.Fatal(err)
		}
		return path
	}
	var models []string
	for i := range 3 {
		var ms []data.Measurement
		for n, at := range []string{"1", "2", "4", "1-1", "2-2", "4-4", "4-4-4", "4-4-4-4"} {
			p, err := data.ParsePlacement(at)
			if err != nil {
				b.Fatal(err)
			}
			for _, batch := range []float64{16, 64} {
				c := data.Config{Job: fmt.Sprint("toy", i), GPUType: "t4", Mode: data.AllReduce, Placement: p, Nodes: len(p), Workers: p.Workers(), LocalBatch: batch}
				t := 0.004*float64(1+i)*batch + 0.05*float64(len(p)) + 0.01*float64(c.Workers) + 0.001*float64(n%3)
				ms = append(ms, data.Measurement{Config: c, StepTime: t, Status: data.OK})
			}
		}
		m, err := fit.Fit(ms, fit.Settings{Seed: 1})
		if err != nil {
			b.Fatal(err)
		}
		var text bytes.Buffer
		if err := fit.EncodeModel(&text, m); err != nil {
			b.Fatal(err)
		}
		models = append(models, text.String())
		write(fmt.Sprintf("m%d.json", i), text.String())
	}
	var list bytes.Buffer
	list.WriteString("jobs:\n")
	for i := range 4000 {
		model := fmt.Sprintf("m%d.json", i%3)
		if own {
			model = fmt.Sprintf("own%d.json", i)
			write(model, models[i%3])
		}
		fmt.Fprintf(&list, "  - {name: job%d, model: %s, remaining: {seconds: %.0f}, workers: {min: 1, max: 64}, batch: {initial: 128, max: 4096, adapt: %t}, restart_seconds: 30, resources: {worker: {cpus: 2, memory: 8Gi}}}\n",
			i, model, 600*math.Pow(300, float64(i*7919%4000)/4000), !fixed)
	}
	return write("cluster.yaml", "nodes:\n  - {name: \"t4-[00001-16000]\", gpu_type: t4, gpus: 4, cpus: 32, memory: 256Gi}\n"), write("jobs.yaml", list.String())
}
