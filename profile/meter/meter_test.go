package meter_test

import (
	"math"
	"math/rand/v2"
	"testing"
	"time"

	"knee/data"
	"knee/profile/launch"
	"knee/profile/meter"
)

// feed gives a meter step times until it has enough, and returns how many.
func feed(m *meter.Meter, n int, next func(i int) float64) int {
	for i := range n {
		if m.Add(launch.Observation{Step: float64(i), StepTime: next(i), SyncTime: .25, Throughput: math.NaN()}) {
			return i + 1
		}
	}
	return n
}

func settings() data.TrialSettings {
	return data.TrialSettings{Warmup: -1, MinSteps: 20, MaxSeconds: 1e9, RelPrecision: .02}
}

func TestMeterStopsWhenSteady(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 1))
	m := meter.New(settings(), 0, data.Config{Workers: 1})
	n := feed(m, 10_000, func(int) float64 { return 1 + .05*rng.NormFloat64() })
	r := m.Read()
	if n == 10_000 || 2*r.SE/r.StepTime > .02 {
		t.Errorf("after %d steps the precision is %g: it should have stopped", n, 2*r.SE/r.StepTime)
	}
	if math.Abs(r.StepTime-1) > .03 || math.Abs(r.SD-.05) > .02 || r.SyncTime != .25 || r.Steps < 20 {
		t.Errorf("reading = %+v, want about 1 ± .05 s", r)
	}
}

func TestMeterDropsWarmUp(t *testing.T) {
	rng := rand.New(rand.NewPCG(2, 1))
	m := meter.New(settings(), 0, data.Config{Workers: 1})
	feed(m, 300, func(i int) float64 { return 1 + 4*math.Exp(-float64(i)/5) + .02*rng.NormFloat64() })
	if r := m.Read(); r.Warmup < 8 || math.Abs(r.StepTime-1) > .03 {
		t.Errorf("dropped %d steps and read %g s, want the slow first steps gone and 1 s", r.Warmup, r.StepTime)
	}
	s := settings()
	s.Warmup = 0
	m = meter.New(s, 0, data.Config{Workers: 1})
	feed(m, 40, func(i int) float64 { return 1 + 4*math.Exp(-float64(i)/5) })
	if r := m.Read(); r.Warmup != 0 || r.StepTime < 1.2 {
		t.Errorf("reading = %+v, want all steps kept when the study says warmup: 0", r)
	}
}

func TestMeterStopsAtMaxSeconds(t *testing.T) {
	s := settings()
	s.MaxSeconds = 30
	m := meter.New(s, 0, data.Config{Workers: 1})
	n := feed(m, 1000, func(i int) float64 { return 1 + float64(i%2) }) // too noisy to be precise in 30 s
	if n < 15 || n > 25 {
		t.Errorf("stopped after %d steps of 1.5 s, want about 20", n)
	}
}

// A log that tells of every hundredth step is not read a hundred times as
// long as the study allows.
func TestMeterStopsAtMaxSecondsOfASparseLog(t *testing.T) {
	s := settings()
	s.MaxSeconds = 30
	m := meter.New(s, 0, data.Config{Workers: 1})
	at, n := time.Unix(0, 0), 0
	for n < 1000 {
		n++
		at = at.Add(2 * time.Second)
		if m.Add(launch.Observation{At: at, Step: float64(100 * n), StepTime: .02 + .01*float64(n%2), Throughput: math.NaN()}) {
			break
		}
	}
	if n != 16 {
		t.Errorf("stopped after %d lines, 2 s apart, want 16", n)
	}
}

// A loss on a line of its own belongs to the step before, and does not come
// between two counts.
func TestMeterTakesLossesBetweenSteps(t *testing.T) {
	nan := math.NaN()
	m := meter.New(settings(), 0, data.Config{Workers: 1})
	at := time.Unix(0, 0)
	for i := range 10 {
		m.Add(launch.Observation{At: at.Add(time.Duration(i) * time.Second), Step: float64(i), StepTime: nan, Throughput: nan, Loss: nan, GradSqr: nan})
		m.Add(launch.Observation{At: at.Add(time.Duration(i)*time.Second + time.Millisecond), Step: nan, StepTime: nan, Throughput: nan, Loss: 2, GradSqr: nan})
	}
	if r := m.Read(); math.Abs(r.StepTime-1) > 1e-12 || r.SD != 0 {
		t.Errorf("read %+v, want steps of 1 s", r)
	}
	curve := m.Curve(1)
	if len(curve) != 10 || curve[9].Step != 9 || curve[9].Loss != 2 {
		t.Errorf("curve %+v, want a loss for each of ten steps", curve)
	}
}

// A bar that is drawn again for a new loss, at the same step and rate, adds
// nothing to what is known of the speed.
func TestMeterLeavesOutRedrawnBars(t *testing.T) {
	nan := math.NaN()
	m := meter.New(settings(), 0, data.Config{Workers: 1})
	for i := range 10 {
		for j := range 5 {
			m.Add(launch.Observation{Step: float64(i), StepTime: 1 + .1*float64(i%2), Throughput: nan, Loss: float64(j), GradSqr: nan})
		}
	}
	if r := m.Read(); r.Steps+r.Warmup != 10 {
		t.Errorf("read %+v, want 10 steps", r)
	}
}

func TestMeterReadsThroughputAndCounters(t *testing.T) {
	nan := math.NaN()
	m := meter.New(settings(), 0, data.Config{Workers: 4, LocalBatch: 25})
	for i := range 10 {
		m.Add(launch.Observation{Step: float64(i), StepTime: nan, Throughput: 200})
	}
	if r := m.Read(); r.StepTime != .5 {
		t.Errorf("100 samples at 200 samples/s take %g s, want 0.5", r.StepTime)
	}
	m = meter.New(settings(), 0, data.Config{Workers: 1})
	at := time.Unix(0, 0)
	for i := range 10 {
		m.Add(launch.Observation{At: at.Add(time.Duration(i) * time.Second), Step: float64(10 * i), StepTime: nan, Throughput: nan})
	}
	if r := m.Read(); math.Abs(r.StepTime-.1) > 1e-12 {
		t.Errorf("ten steps a second take %g s each, want 0.1", r.StepTime)
	}
	if r := meter.New(settings(), 0, data.Config{}).Read(); r.Steps != 0 || !math.IsInf(2*r.SE/r.StepTime, 1) {
		t.Errorf("a meter that saw nothing reads %+v", r)
	}
}
