package tiresias

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"sort"
)

// quantum is the service, in GPU-seconds, that the index looks ahead.
const quantum = 3250

// gittins is a table of the Gittins index by attained service (Tiresias,
// section 3.2): the probability that a job ends within a quantum, over the service
// it is expected to take until then.
type gittins struct {
	age   []int64 // sorted samples
	value []float64
}

func newGittins(service []int64) (*gittins, error) {
	if len(service) == 0 {
		return nil, errors.New("no distribution of service times is given; it wants a sample of the GPU-seconds that jobs need")
	}
	t := &gittins{age: slices.Sorted(slices.Values(service))}
	if t.age[0] < 1 {
		return nil, fmt.Errorf("service time %d in the distribution, want GPU-seconds ≥ 1", t.age[0])
	}
	sums := make([]int64, len(t.age)+1)
	for i, d := range t.age {
		sums[i+1] = sums[i] + d
	}
	for _, d := range t.age {
		t.value = append(t.value, t.compute(d-1, sums))
	}
	return t, nil
}

// compute is the index at attained service a, in millionths per GPU-second,
// with the rounding of the published program.
func (t *gittins) compute(a int64, sums []int64) float64 {
	n := len(t.age)
	last := t.age[n-1]
	i := t.upTo(a)
	k := n - 1
	if a+quantum <= last-1 {
		k = t.upTo(a + quantum)
	}
	p := roundTo(float64(k-i)/float64(n-i), 5)
	expected := (sums[k] - sums[i] + quantum*int64(n-k)) / int64(n-i)
	if expected == 0 {
		return 0
	}
	return roundTo(p*1e6/float64(expected), 4)
}

// upTo counts the samples that are at most a.
func (t *gittins) upTo(a int64) int {
	return sort.Search(len(t.age), func(i int) bool { return t.age[i] > a })
}

// index looks the value up for a job that has attained a service.
func (t *gittins) index(a int64) float64 {
	i := t.upTo(a)
	if i == len(t.age) {
		return 0
	}
	return t.value[i]
}

// roundTo rounds halves away from zero.
func roundTo(x float64, digits int) float64 {
	scale := math.Pow10(digits)
	return math.Round(x*scale) / scale
}
