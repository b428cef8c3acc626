package report_test

import (
	"bytes"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"testing"

	"knee/plots/report"
)

// writeMeasurements writes n measurements; config says which configuration the
// i-th is of.
func writeMeasurements(b *testing.B, n int, config func(i int) (job string, workers, batch int)) string {
	b.Helper()
	r := rand.New(rand.NewPCG(1, 1))
	var text bytes.Buffer
	text.WriteString("job,gpu_type,workers,local_batch,step_time_s\n")
	for i := range n {
		job, workers, batch := config(i)
		t := (0.001*float64(batch) + 0.02*math.Pow(float64(workers), 0.3)) * math.Exp(0.05*r.NormFloat64())
		fmt.Fprintf(&text, "%s,a100,%d,%d,%.6f\n", job, workers, batch, t)
	}
	path := filepath.Join(b.TempDir(), "m.csv")
	if err := os.WriteFile(path, text.Bytes(), 0o644); err != nil {
		b.Fatal(err)
	}
	return path
}

// BenchmarkReport measures a page of many rows and of many jobs.
func BenchmarkReport(b *testing.B) {
	for _, c := range []struct {
		name   string
		rows   int
		config func(i int) (string, int, int)
	}{
		{"200000-rows", 200_000, func(i int) (string, int, int) { return "a", 1 << (i % 6), 16 << (i / 6 % 4) }},
		{"200000-configurations", 200_000, func(i int) (string, int, int) { return "a", 1 + i%64, 16 + i/64 }},
		{"20000-equal-rows", 20_000, func(int) (string, int, int) { return "a", 2, 32 }},
		{"2000-jobs", 2000, func(i int) (string, int, int) { return fmt.Sprint("job", i), 2, 32 }},
	} {
		path := writeMeasurements(b, c.rows, c.config)
		b.Run(c.name, func(b *testing.B) {
			for b.Loop() {
				var in report.Inputs
				if err := in.Read(path); err != nil {
					b.Fatal(err)
				}
				r, err := in.Report(b.Context())
				if err != nil {
					b.Fatal(err)
				}
				var page bytes.Buffer
				if err := report.Write(&page, r); err != nil {
					b.Fatal(err)
				}
				b.ReportMetric(float64(page.Len())/1e6, "MB")
			}
		})
	}
}
