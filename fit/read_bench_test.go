package fit

import (
	"bytes"
	"testing"
)

// BenchmarkDecodeModel reads the model of fullModel.
func BenchmarkDecodeModel(b *testing.B) {
	var text bytes.Buffer
	if err := EncodeModel(&text, fullModel(b)); err != nil {
		b.Fatal(err)
	}
	b.ReportMetric(float64(text.Len()), "bytes")
	for b.Loop() {
		if _, err := DecodeModel(bytes.NewReader(text.Bytes()), "m.json"); err != nil {
			b.Fatal(err)
		}
	}
}
