package main

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/spf13/cobra"

	"knee/data"
)

// BenchmarkCommand prints the processor time of whole commands, user and system,
// start included: the slowest --help, and the commands that read and write most.
//
//	go test ./cmd/knee -run '^$' -bench Command -benchtime 3x
func BenchmarkCommand(b *testing.B) {
	dir := b.TempDir()
	knee := filepath.Join(dir, "knee") // TestMain makes the test binary the command by its name
	binary, err := os.Executable()
	if err == nil {
		err = os.Symlink(binary, knee)
	}
	if err != nil {
		b.Fatal(err)
	}
	used := func(b *testing.B, args ...string) time.Duration {
		cmd := exec.CommandContext(context.Background(), knee, append(args, "-q")...)
		cmd.Dir = dir
		if out, err := cmd.CombinedOutput(); err != nil {
			b.Fatalf("knee %s: %v\n%s", strings.Join(args, " "), err, out)
		}
		return cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime()
	}
	b.Run("help", func(b *testing.B) {
		var slowest time.Duration
		n := 0
		for b.Loop() {
			slowest, n = 0, 0
			for _, c := range commandsOf(newRoot(&app{})) {
				n++
				slowest = max(slowest, used(b, append(c, "--help")...))
			}
		}
		b.ReportMetric(float64(slowest.Microseconds())/1000, "slowest-cpu-ms")
		b.ReportMetric(float64(n), "commands")
	})
	writeRows(b, filepath.Join(dir, "rows.csv"), 500, true)
	writeRows(b, filepath.Join(dir, "trials.csv"), 40, true)
	writeRows(b, filepath.Join(dir, "configs.csv"), 100_000, false)
	for _, tt := range []struct {
		name string
		args []string
	}{
		{"fit-500", []string{"fit", "rows.csv", "-f", "model.json"}},
		{"predict-100000", []string{"predict", "model.json", "--at", "configs.csv", "-o", "csv"}},
		{"report-40", []string{"report", "trials.csv", "-f", "report.html"}},
		{"plot-scalability", []string{"plot", "scalability", "model.json", "-f", "s.svg"}},
	} {
		b.Run(tt.name, func(b *testing.B) {
			least := time.Hour
			for b.Loop() {
				least = min(least, used(b, tt.args...))
			}
			b.ReportMetric(float64(least.Microseconds())/1000, "cpu-ms")
		})
	}
}

// commandsOf lists the paths of the commands below one that can be run.
func commandsOf(c *cobra.Command) [][]string {
	var all [][]string
	for _, sub := range c.Commands() {
		if sub.Runnable() && !sub.Hidden {
			all = append(all, strings.Fields(strings.TrimPrefix(sub.CommandPath(), "knee ")))
		}
		all = append(all, commandsOf(sub)...)
	}
	return all
}

// writeRows writes n rows of a job on two GPU types, up to 64 workers at eight
// batches, with or without what was measured.
func writeRows(b *testing.B, path string, n int, measured bool) {
	var t strings.Builder
	t.WriteString("job,gpu_type,workers,local_batch")
	if measured {
		t.WriteString(",step_time_s,step_time_se_s,status")
	}
	t.WriteString("\n")
	for i := range n {
		gpu, k, batch := []string{"a100", "v100"}[i%2], 1+i*7%64, float64(int(16)<<(i/3%8))
		fmt.Fprintf(&t, "job,%s,%d,%g", gpu, k, batch)
		if measured {
			s := batch*.0008*float64(1+i%2) + .004*float64(k) + .03
			s *= 1 + .02*float64(i*31%17-8)/8
			fmt.Fprintf(&t, ",%.6g,%.3g,%s", s, .01*s, data.OK)
		}
		t.WriteString("\n")
	}
	if err := os.WriteFile(path, []byte(t.String()), 0o600); err != nil {
		b.Fatal(err)
	}
}
