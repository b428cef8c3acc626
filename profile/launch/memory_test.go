package launch_test

import (
	"bufio"
	"math"
	"os"
	"path/filepath"
	"testing"

	"knee/data"
	"knee/profile/launch"
)

// The logs in testdata/memory are written after what the programs' sources
// print. Each is read with the pattern of its program; peak and device are
// bytes, steps those with a time of their own or a counter.
func TestMemoryInLogs(t *testing.T) {
	const mebi, gibi = 1 << 20, 1 << 30
	for _, tc := range []struct {
		log, pattern string
		peak, device float64
		steps        int
	}{
		{"megatron", "megatron", 41256.78 * mebi, 0, 3},
		{"deepspeed", "deepspeed", 19.52 * gibi, 0, 3},
		{"deepspeed-pipeline", "deepspeed", 14.75 * gibi, 0, 2},
		{"torchtitan", "torchtitan", 51.88 * gibi, 0, 3},
		{"nemo", "nemo", 0, 0, 3},
		{"fsdp", "tqdm", 17.42 * 1e9, 0, 2},
		{"torchvision", "torchvision", 8150 * mebi, 0, 2},
		{"nvidia-smi", "tqdm", 78123 * mebi, 81559 * mebi, 1},
		{"cgroup", "", 1_288_490_188, 0, 2},
		{"out-of-memory", "", 0, 79.15 * gibi, 1},
		{"out-of-memory-old", "", 0, 39.59 * gibi, 0},
	} {
		p, err := launch.NewParser(data.Metrics{Pattern: tc.pattern})
		if err != nil {
			t.Fatal(err)
		}
		p = launch.ParserFor(p, data.Config{Workers: 8, LocalBatch: 2})
		f, err := os.Open(filepath.Join("testdata", "memory", tc.log+".log"))
		if err != nil {
			t.Fatal(err)
		}
		defer f.Close()
		peak, device, steps := 0.0, 0.0, 0
		for lines := bufio.NewScanner(f); lines.Scan(); {
			o, ok, err := p.Parse(lines.Text())
			if err != nil {
				t.Errorf("%s: %v", tc.log, err)
			}
			if !ok {
				continue
			}
			peak, device = max(peak, o.PeakMemory), max(device, o.DeviceMemory)
			if !math.IsNaN(o.Step) || o.StepTime > 0 {
				steps++
			}
		}
		if math.Abs(peak-tc.peak) > 1 || math.Abs(device-tc.device) > 1 || steps != tc.steps {
			t.Errorf("%s: peak %.0f of %.0f bytes, %d steps; want %.0f of %.0f, %d", tc.log, peak, device, steps, tc.peak, tc.device, tc.steps)
		}
	}
}

// MB, MiB and bytes are distinguished; other numbers are not read.
func TestMemoryUnits(t *testing.T) {
	p, err := launch.NewParser(data.Metrics{JSONL: true})
	if err != nil {
		t.Fatal(err)
	}
	p = launch.ParserFor(p, data.Config{Workers: 1})
	for line, want := range map[string]float64{
		"max_memory_allocated: 1073741824":                  1 << 30,
		"torch.cuda.max_memory_allocated() = 2.5 GB":        2.5e9,
		"max_memory_allocated 2.5 GiB":                      2.5 * (1 << 30),
		"Peak memory usage: 812.5 MiB":                      812.5 * (1 << 20),
		"peak gpu memory: 812.5 MB":                         812.5e6,
		"Max memory allocated 1,234 MB":                     1234e6,
		`knee: {"step":3,"peak_memory_bytes":2500000000.0}`: 2.5e9,
		"/sys/fs/cgroup/memory.peak:123456":                 123456,
		"peak memory: high":                                 0,
		"max_memory_allocated: 1e400":                       0,
		"max_memory_allocated: 2.5e9":                       2.5e9,
		"max_memory_allocated: 12 apples":                   12,
		"max_memory_allocated: 12x":                         0,
		"peak memory 12":                                    0, // of what?
		"Memory 3812 MB used":                               0, // not the most
		"gpu memory limit 40 GiB":                           0,
		"max_memory_allocated: 9999999999999999999999":      0,
	} {
		o, ok, err := p.Parse(line)
		if err != nil || o.PeakMemory != want && ok || ok != (want > 0) {
			t.Errorf("%q: %g bytes, %v, %v; want %g", line, o.PeakMemory, ok, err, want)
		}
	}
	if _, _, err := p.Parse(`knee: {"step":3,"peak_memory_bytes":-1}`); err == nil {
		t.Error("a negative peak was accepted")
	}
}
