package fit

import (
	"testing"

	"knee/data"
)

// Batches of language models go into the tens of thousands.
func TestWhatIsOutsideIsWrittenInPlainNumbers(t *testing.T) {
	h := &hull{Workers: [2]float64{1, 1}, Nodes: [2]float64{1, 1}, Widest: [2]float64{1, 1}, Local: [2]float64{512, 16384}}
	got := h.outside(data.Config{Workers: 1, LocalBatch: 65536}, data.AllReduce)
	if want := "local batch 65536, measured 512 to 16384"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
	for v, want := range map[float64]string{3: "3", 2.6666666: "2.667", 12345.6: "12346", 1e6: "1000000"} {
		if got := amount(v); got != want {
			t.Errorf("%g is written %q, want %q", v, got, want)
		}
	}
}
