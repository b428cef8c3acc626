package fit

import (
	"strings"
	"testing"

	"knee/data"
)

// Predicting many at once changes no number, whatever they share.
func TestPredictAllEqualsPredict(t *testing.T) {
	m := fullModel(t)
	var cs []data.Config
	for i := range 3000 {
		k := 1 + i%24
		if i%5 == 0 {
			cs = append(cs, data.Config{GPUType: "cpu", Workers: k, PS: 1 + i%3})
			continue
		}
		cs = append(cs, data.Config{GPUType: "t4", Workers: k, LocalBatch: float64(8 + i), AccumSteps: i % 3,
			Placement: data.EvenPlacement(k, 1+(i/7)%k)})
	}
	all, err := m.PredictAll(cs)
	if err != nil {
		t.Fatal(err)
	}
	for i, c := range cs {
		one, err := m.Predict(c)
		if err != nil || one != all[i] {
			t.Fatalf("%d, %v: %+v alone, %+v among others, error %v", i, c, one, all[i], err)
		}
	}
	if none, err := m.PredictAll(nil); err != nil || len(none) != 0 {
		t.Errorf("nothing asked: %v, %v", none, err)
	}
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
