package memory_test

import (
	"fmt"

	"knee/data"
	"knee/fit/memory"
)

// Which layouts of a transformer fit on eight GPUs of 80 GB: at first by its size
// alone, then by a measured peak too.
func ExampleFit() {
	size := data.Architecture{Layers: 32, Hidden: 4096, Heads: 32, SeqLen: 2048, Vocab: 32000}
	whole := data.Config{GPUType: "a100-80gb", Workers: 8, LocalBatch: 1}
	split := whole
	split.TP, split.PP = 4, 2
	m := memory.Fit(nil, size, 1)
	fmt.Printf("fits whole: %v; split: %v\n", m.Predict(whole).Fits > .5, m.Predict(split).Fits > .5)

	before := m.Predict(split).Peak
	m = memory.Fit([]data.Measurement{{Config: split, Status: data.OK, PeakMemory: before.Mean}}, size, 1)
	after := m.Predict(split).Peak
	fmt.Println("a measurement narrows the interval:", after.Hi/after.Lo < before.Hi/before.Lo)
	// Output:
	// fits whole: false; split: true
	// a measurement narrows the interval: true
}
