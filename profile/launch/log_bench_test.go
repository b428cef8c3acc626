//go:build unix

package launch_test

import (
	"fmt"
	"path/filepath"
	"runtime"
	"syscall"
	"testing"
	"time"

	"knee/data"
	"knee/profile/launch"
)

// BenchmarkLog reads the log of a trial of 200 MB: short lines, lines without
// an end, a bar that draws itself with carriage returns, and a step each line.
// It reports the processor time of this process and the memory it took above
// what it had before.
//
//	go test ./profile/launch -run '^$' -bench Log -benchtime 1x
func BenchmarkLog(b *testing.B) {
	const size = 200_000_000
	for name, line := range map[string]string{
		"lines":     `epoch 3 batch 127 of 4000: reading shard 17, Loss 2.3021, Memory 3812 MB used\n`,
		"steps":     `knee: {"step":%d,"step_time_s":0.041,"loss":2.1}\n`,
		"bar":       `\r 12%%|██        | 120/1000 [00:12<01:31,  9.62it/s, loss=2.31]`,
		"unended":   `0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef`,
		"backtrace": `  File "/opt/conda/lib/python3.11/site-packages/torch/nn/modules/module.py", line 1501, in _call_impl\n`,
	} {
		b.Run(name, func(b *testing.B) {
			script := fmt.Sprintf(`BEGIN { for (n = 0; n < %d; n += length(s)) { s = sprintf("%s", ++i); printf "%%s", s }; print "\nknee: {\"step\":1,\"step_time_s\":0.5}" }`, size, escape(line))
			l := &launch.Local{Parser: parser(b)}
			for range b.N {
				runtime.GC()
				before, used := memory(), processor(b)
				most, stop := watchMemory()
				obs := make(chan launch.Observation, 256)
				go func() {
					for range obs {
					}
				}()
				err := l.Launch(b.Context(), launch.Trial{ID: 1, Attempt: 1, Config: data.Config{Workers: 1},
					Command: []string{"awk", script}, Log: filepath.Join(b.TempDir(), "log")}, obs)
				close(obs)
				stop()
				if err != nil {
					b.Fatal(err)
				}
				b.ReportMetric(processor(b)-used, "cpu-s")
				b.ReportMetric(float64(*most-min(before, *most))/1e6, "MB-above-idle")
				b.ReportMetric(0, "ns/op")
			}
		})
	}
}

// escape writes the quotes of a line for a string of awk.
func escape(s string) string {
	out := ""
	for _, c := range s {
		if c == '"' {
			out += `\`
		}
		out += string(c)
	}
	return out
}

func parser(tb testing.TB) launch.Parser {
	p, err := launch.NewParser(data.Metrics{JSONL: true})
	if err != nil {
		tb.Fatal(err)
	}
	return p
}

// processor returns the processor time of this process in seconds.
func processor(tb testing.TB) float64 {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		tb.Fatal(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano()).Seconds()
}

// memory returns the bytes that the Go runtime has from the system.
func memory() uint64 {
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.Sys - m.HeapReleased
}

// watchMemory samples memory until stop is called.
func watchMemory() (most *uint64, stop func()) {
	most = new(uint64)
	done, ended := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(ended)
		for {
			*most = max(*most, memory())
			select {
			case <-done:
				return
			case <-time.After(20 * time.Millisecond):
			}
		}
	}()
	return most, func() { close(done); <-ended }
}
