package fit

import (
	"math"
	"strings"
	"testing"

	"knee/data"
)

// Predicting many at once changes no number beyond rounding, whatever they
// share.
func TestPredictAllEqualsPredict(t *testing.T) {
	m := fullModel(t)
	var cs []data.Config
	for i := range 3000 {
		k := 1 + i%24
		if i%5 == 0 {
			cs = append(cs, data.Config{GPUType: "cpu", Workers: k, PS: 1 + i%3})
			continue
		}
		cs = append(cs, data.Config{GPUType: "t4", Workers: k, LocalBatch: float64(8 + i%40), AccumSteps: i % 3,
			Placement: data.EvenPlacement(k, 1+(i/7)%k)})
	}
	all, err := m.PredictAll(cs)
	if err != nil {
		t.Fatal(err)
	}
	for i, c := range cs {
		one, err := m.Predict(c)
		if err != nil || !alike(one, all[i]) {
			t.Fatalf("%d, %v: %+v alone, %+v among others, error %v", i, c, one, all[i], err)
		}
	}
	if none, err := m.PredictAll(nil); err != nil || len(none) != 0 {
		t.Errorf("nothing asked: %v, %v", none, err)
	}
}

func alike(a, b Prediction) bool {
	near := func(x, y float64) bool { return math.Abs(x-y) <= 1e-9*y }
	s, t := a.StepTime, b.StepTime
	same := near(s.Mean, t.Mean) && near(s.Lo, t.Lo) && near(s.Hi, t.Hi)
	a.StepTime = t
	return same && a == b
}

func TestPredictAllNamesTheFirstRefused(t *testing.T) {
	cs := make([]data.Config, 2000)
	for i := range cs {
		cs[i] = data.Config{GPUType: "t4", Workers: 2}
	}
	cs[700].GPUType, cs[1900].GPUType = "h100", "h200"
	if _, err := fullModel(t).PredictAll(cs); err == nil || !strings.Contains(err.Error(), "configuration 700") || !strings.Contains(err.Error(), "h100") {
		t.Errorf("error %v, want the first, configuration 700 with h100", err)
	}
}
