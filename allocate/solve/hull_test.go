package solve

import (
	"fmt"
	"math"
	"testing"

	"knee/allocate"
	"knee/data"
	"knee/predict"

	"pgregory.net/rapid"
)

// TestHull: at any price per share some item of the hull is best, and each item
// of the hull is the only best one at some price.
func TestHull(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		gain := rapid.SliceOfN(rapid.IntRange(1, 40), 1, 12).Draw(t, "gains")
		items := make([]item, len(gain))
		value := 0.0
		for n, g := range gain {
			value += float64(g)
			share := float64(n+1) / 16
			items[n] = item{option: n, size: n + 1, value: value, share: share, use: []float64{share}}
		}
		hull := convexHull(items)
		best := func(among []int, price float64) float64 {
			v := math.Inf(-1)
			for _, n := range among {
				v = max(v, items[n].value-price*items[n].share)
			}
			return v
		}
		all := make([]int, len(items))
		for n := range all {
			all[n] = n
		}
		price := rapid.Float64Range(0, 1000).Draw(t, "price")
		if a, b := best(all, price), best(hull, price); b < a-1e-9 {
			t.Fatalf("at price %g the hull %v has %g, the items %g", price, hull, b, a)
		}
		for x := 1; x+1 < len(hull); x++ {
			a, b, c := items[hull[x-1]], items[hull[x]], items[hull[x+1]]
			if line := a.value + (c.value-a.value)*(b.share-a.share)/(c.share-a.share); b.value <= line {
				t.Fatalf("item %d of hull %v is no vertex", hull[x], hull)
			}
		}
	})
}

// TestTiesAreKept: of plans that are worth the same the one that runs is kept.
func TestTiesAreKept(t *testing.T) {
	cfg := data.Config{GPUType: "a", Workers: 2}
	s := allocate.State{Cluster: testCluster(nodes("a", 1, 4)...)}
	for i := range 5 {
		current := allocate.None
		if i == 1 || i == 3 {
			current = 0
		}
		s.Jobs = append(s.Jobs, allocate.JobState{Name: fmt.Sprint(i), Current: current,
			Options: []allocate.Option{{Answer: predict.Answer{Config: cfg}, Value: 1, Use: allocate.UseOf(cfg, data.Resources{}), Keeps: current == 0}}})
	}
	a, err := Maximise(s)
	if err != nil {
		t.Fatal(err)
	}
	for i, c := range a.Choice {
		if (c == 0) != (i == 1 || i == 3) {
			t.Fatalf("choices %v, want the jobs 1 and 3 that run", a.Choice)
		}
	}
}

// TestGreedyStartsAndGrows: every job that can starts, and what is left goes
// where it brings most.
func TestGreedyStartsAndGrows(t *testing.T) {
	s := allocate.State{Cluster: testCluster(nodes("a", 1, 6)...)}
	for i := range 3 {
		j := allocate.JobState{Name: fmt.Sprint(i), Current: allocate.None}
		for w := 1; w <= 4; w++ {
			cfg := data.Config{GPUType: "a", Workers: w}
			j.Options = append(j.Options, allocate.Option{Answer: predict.Answer{Config: cfg}, Value: math.Sqrt(float64(w)) * float64(i+1), Use: allocate.UseOf(cfg, data.Resources{})})
		}
		s.Jobs = append(s.Jobs, j)
	}
	a, err := Greedy(s, nil)
	if err != nil {
		t.Fatal(err)
	}
	if want := []int{0, 1, 2}; fmt.Sprint(a.Choice) != fmt.Sprint(want) {
		t.Errorf("choices %v, want %v", a.Choice, want)
	}
}
