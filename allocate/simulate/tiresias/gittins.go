package tiresias

import (
	"errors"
	"fmt"
	"slices"

	"gonum.org/v1/gonum/floats/scalar"
)

// quantum is the service, in GPU-seconds, that the index looks ahead.
const quantum = 3250

// gittins is the Gittins index by attained service (Tiresias, section 3.2): the
// probability that a job ends within a quantum, over the service it is expected to take
// until then.
type gittins struct {
	age  []int64 // sorted samples
	sums []int64 // of the samples before
}

func newGittins(service []int64) (*gittins, error) {
	if len(service) == 0 {
		return nil, errors.New("no distribution of service times is given; it wants a sample of the GPU-seconds that jobs need")
	}
	t := &gittins{slices.Sorted(slices.Values(service)), []int64{0}}
	if t.age[0] < 1 {
		return nil, fmt.Errorf("service time %d in the distribution, want GPU-seconds ≥ 1", t.age[0])
	}
	for i, d := range t.age {
		t.sums = append(t.sums, t.sums[i]+d)
	}
	return t, nil
}

// index is that of a job that has attained service a, in millionths per GPU-second; as in
// the published program that just before the next sample, with its rounding.
func (t *gittins) index(a int64) float64 {
	n, i := len(t.age), t.upTo(a)
	if i == n {
		return 0
	}
	k := min(t.upTo(t.age[i]-1+quantum), n-1)
	p := scalar.Round(float64(k-i)/float64(n-i), 5)
	expected := (t.sums[k] - t.sums[i] + quantum*int64(n-k)) / int64(n-i)
	if expected == 0 {
		return 0
	}
	return scalar.Round(p*1e6/float64(expected), 4)
}

// upTo counts the samples that are at most a.
func (t *gittins) upTo(a int64) int {
	n, _ := slices.BinarySearch(t.age, a+1)
	return n
}
