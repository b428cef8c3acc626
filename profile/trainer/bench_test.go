package trainer

import (
	"context"
	"fmt"
	"io"
	"testing"

	"knee/data"
)

// The cost of one step. Compare two versions with
//
//	GOMAXPROCS=1 go test -bench Step -count 6 ./profile/trainer | benchstat -

func BenchmarkStepCompute(b *testing.B) {
	for _, name := range []string{"small", "large"} {
		for _, n := range []float64{8, 32, 128} {
			b.Run(fmt.Sprintf("%s/batch=%g", name, n), func(b *testing.B) {
				o := Options{Model: name, LocalBatch: n}
				o.setDefaults()
				m, err := newModel(name, 0)
				if err != nil {
					b.Fatal(err)
				}
				w := newWorker(&o, m, nil)
				for step := int64(1); b.Loop(); step++ {
					if _, err := w.compute(context.Background(), step); err != nil {
						b.Fatal(err)
					}
				}
			})
		}
	}
}

// BenchmarkStepJob times whole jobs whose ranks share this process; one
// operation is one step; connecting and closing are included.
func BenchmarkStepJob(b *testing.B) {
	for _, o := range []Options{
		{Mode: data.AllReduce, Workers: 2}, {Mode: data.AllReduce, Workers: 4},
		{Mode: data.PSSync, Workers: 2, PS: 2}, {Mode: data.PSAsync, Workers: 2, PS: 2},
	} {
		b.Run(fmt.Sprintf("%s/workers=%d/ps=%d", o.Mode, o.Workers, o.PS), func(b *testing.B) {
			o.Steps = b.N
			ranks := jobOptions(b, o)
			if err := concurrently(len(ranks), func(r int) error { return Run(context.Background(), ranks[r], io.Discard, io.Discard) }); err != nil {
				b.Fatal(err)
			}
		})
	}
}
