package speed

import (
	"strconv"
	"testing"

	"knee/data"
)

// BenchmarkFit measures a fit by number of measurements:
//
//	go test ./fit/speed -run '^$' -bench 'Fit|Predict'
func BenchmarkFit(b *testing.B) {
	for _, n := range []int{8, 64, 500} {
		b.Run(strconv.Itoa(n), func(b *testing.B) {
			ms := synthetic(n)
			for b.Loop() {
				if _, err := fitAll(ms, Settings{}); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// BenchmarkPredict measures one prediction with its interval.
func BenchmarkPredict(b *testing.B) {
	for _, n := range []int{8, 64, maxRows} {
		b.Run(strconv.Itoa(n), func(b *testing.B) {
			m, err := fitAll(synthetic(n), Settings{})
			if err != nil {
				b.Fatal(err)
			}
			c := data.Config{GPUType: "t4", Workers: 12, Placement: data.Placement{4, 4, 4}, LocalBatch: 48}
			for b.Loop() {
				if _, err := m.Predict(c); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// BenchmarkPredictAll measures 100,000 predictions with their intervals: a
// sweep over 100 batches and 1,000 placements.
func BenchmarkPredictAll(b *testing.B) {
	var cs []data.Config
	for batch := range 100 {
		for i := range 1000 {
			k := 1 + i/8
			cs = append(cs, data.Config{GPUType: "t4", Workers: k, LocalBatch: float64(16 + batch),
				Placement: data.EvenPlacement(k, 1+(i%8)*(k-1)/8)})
		}
	}
	for _, n := range []int{8, 64, maxRows} {
		b.Run(strconv.Itoa(n), func(b *testing.B) {
			m, err := fitAll(synthetic(n), Settings{})
			if err != nil {
				b.Fatal(err)
			}
			for b.Loop() {
				if _, err := m.PredictAll(cs); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
