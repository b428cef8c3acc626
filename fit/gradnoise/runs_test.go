package gradnoise

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"knee/data"
)

// runAt is a run of a power law of the steps at batch 64 that it is worth.
func runAt(name string, batch, phi, noise float64, rng *rand.Rand) (points []data.CurvePoint) {
	nan := math.NaN()
	for step := 1.; step <= 150; step++ {
		progress := step * batch / 64 * (phi + 64) / (phi + batch)
		points = append(points, data.CurvePoint{Run: name, Step: step, GlobalBatch: batch, Progress: nan, Epoch: nan, Metric: nan,
			Loss: (.3 + 3*math.Pow(1+progress/20, -.5)) * math.Exp(noise*rng.NormFloat64())})
	}
	return points
}

// The noise scale that runs obey is inside the interval nine times in ten.
func TestFromRuns(t *testing.T) {
	for _, phi := range []float64{1, 100, 1000, 30000} {
		inside := 0
		const records = 40
		for seed := range uint64(records) {
			rng := rand.New(rand.NewPCG(seed, 1))
			var points []data.CurvePoint
			for _, batch := range []float64{64, 256, 1024}[:2+seed%2] {
				points = append(points, runAt(fmt.Sprint(batch), batch, phi, .02, rng)...)
			}
			n, err := FromRuns(points, 64)
			if err != nil {
				t.Fatal(err)
			}
			// Of a scale far from the batches only the efficiency can be told.
			e, truth := n.Efficiency(1024), (phi+64)/(phi+1024)
			if e.Lo <= truth*1.02 && truth <= e.Hi*1.02 {
				inside++
			}
		}
		if inside < .85*records {
			t.Errorf("φ = %g: %d of %d efficiencies inside", phi, inside, records)
		}
	}
}

// Runs of one batch that differ widen the interval; runs that never come to the
// same loss, or have one batch, say nothing.
func TestFromRunsThatScatter(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 1))
	points := append(runAt("a", 64, 500, .01, rng), runAt("b", 512, 500, .01, rng)...)
	plain, err := FromRuns(points, 64)
	if err != nil {
		t.Fatal(err)
	}
	other := runAt("c", 64, 500, .01, rng)
	for i := range other {
		other[i].Step *= 1.5
	}
	wide, err := FromRuns(append(points, other...), 64)
	if err != nil {
		t.Fatal(err)
	}
	if width := func(n *Scale) float64 { return math.Log(n.Phi.Hi / n.Phi.Lo) }; width(wide) < 1.5*width(plain) {
		t.Errorf("%+v, with another run %+v", plain.Phi, wide.Phi)
	}
	if n, err := FromRuns(append(runAt("a", 64, 1, .01, rng), other...), 64); err == nil {
		t.Errorf("one batch: %+v", n)
	}
	above := runAt("above", 512, 500, .01, rng)
	for i := range above {
		above[i].Loss += 9
	}
	if n, err := FromRuns(append(points[:150:150], above...), 64); err == nil {
		t.Errorf("no common loss: %+v", n)
	}
}

// A metric, rising or falling, tells as much as a loss.
func TestFromRunsByMetric(t *testing.T) {
	for _, sign := range []float64{1, -1} {
		rng := rand.New(rand.NewPCG(2, 1))
		points := append(runAt("a", 64, 500, .005, rng), runAt("b", 512, 500, .005, rng)...)
		for i := range points {
			points[i].Metric, points[i].Loss = sign*points[i].Loss, math.NaN()
		}
		if n, err := FromRuns(points, 64); err != nil || !(n.Phi.Lo < 500 && 500 < n.Phi.Hi) {
			t.Errorf("%g: %+v, %v", sign, n, err)
		}
	}
}
