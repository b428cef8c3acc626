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

// A trial that ends before its first step has no step time, whatever its warm-up.
func TestMeterWithoutSteps(t *testing.T) {
	for _, warmup := range []int{-1, 0, 1, 5} {
		s := settings()
		s.Warmup = warmup
		if r := meter.New(s, 0, data.Config{Workers: 1}).Read(); r.Steps != 0 || r.Warmup != 0 {
			t.Errorf("warm-up %d: reading = %+v, want no steps", warmup, r)
		}
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

// A log that reports every hundredth step is not read a hundred times as
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

// A loss on a separate line belongs to the step before, and ends no step.
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

// The largest peak of any rank is kept; a line with memory only is not a step;
// memory measured from outside counts if none is reported.
func TestMeterKeepsPeakMemory(t *testing.T) {
	nan := math.NaN()
	m := meter.New(settings(), 0, data.Config{Workers: 2})
	m.SeenOutside(7, 0)
	if r := m.Read(); r.PeakMemory != 7 || r.DeviceMemory != 0 {
		t.Errorf("read %+v, want a peak of 7", r)
	}
	m = meter.New(settings(), 0, data.Config{Workers: 2})
	for i := range 10 {
		m.Add(launch.Observation{Step: float64(i), StepTime: 1, Throughput: nan, Loss: nan, GradSqr: nan, PeakMemory: float64(10 - i)})
		m.Add(launch.Observation{Rank: 1, Step: nan, StepTime: nan, SyncTime: nan, Throughput: nan, Loss: nan, GradSqr: nan, GradVar: nan, PeakMemory: 12, DeviceMemory: 80})
	}
	m.SeenOutside(99, 99)
	if r := m.Read(); r.PeakMemory != 12 || r.DeviceMemory != 80 || m.Observed() != 10 || r.StepTime != 1 {
		t.Errorf("read %+v of %d steps, want a peak of 12 of 80 and 10 steps of 1 s", r, m.Observed())
	}
}

// A bar redrawn for a new loss, at the same step and rate, adds no step.
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

// Time advances only with a larger step: a counter that is printed twice, or
// by several ranks whose lines cannot be distinguished, does not make steps
// shorter; another epoch begins to count again.
func TestMeterCountsEachStepOnce(t *testing.T) {
	for _, tc := range []struct {
		name string
		rank int // data.Metrics.Rank
		feed func(m *meter.Meter, at time.Time, step int)
	}{
		{"printed twice", 0, func(m *meter.Meter, at time.Time, step int) {
			m.Add(bare(at, 0, float64(step)))
			m.Add(bare(at.Add(700*time.Millisecond), 0, float64(step)))
		}},
		{"four ranks that are not told apart", 0, func(m *meter.Meter, at time.Time, step int) {
			for i := range 4 {
				m.Add(bare(at.Add(time.Duration(i)*200*time.Millisecond), launch.UnknownRank, float64(step-i%2)))
			}
		}},
		{"four ranks", 2, func(m *meter.Meter, at time.Time, step int) {
			for i := range 4 {
				m.Add(bare(at.Add(time.Duration(i*step%7)*100*time.Millisecond*time.Duration(1-i/2)), i, float64(step)))
			}
		}},
		{"all of four ranks", data.AllRanks, func(m *meter.Meter, at time.Time, step int) {
			for i := range 4 {
				m.Add(bare(at.Add(time.Duration(i)*50*time.Millisecond), i, float64(step)))
			}
		}},
		{"epochs of twenty steps", 0, func(m *meter.Meter, at time.Time, step int) { m.Add(bare(at, 0, float64(step%20))) }},
		{"only the last rank prints", 0, func(m *meter.Meter, at time.Time, step int) { m.Add(bare(at, 3, float64(step))) }},
	} {
		t.Run(tc.name, func(t *testing.T) {
			m := meter.New(settings(), tc.rank, data.Config{Workers: 4})
			for i := range 60 {
				tc.feed(m, time.Unix(int64(i), 0), i)
			}
			if r := m.Read(); math.Abs(r.StepTime-1) > 1e-9 {
				t.Errorf("steps of 1 s are read as %g s", r.StepTime)
			}
		})
	}
}

// Where every worker updates the parameters for itself, the step of the job is
// the time per update of them all.
func TestMeterOfAllRanksInAsync(t *testing.T) {
	m := meter.New(settings(), data.AllRanks, data.Config{Workers: 2, PS: 1, Mode: data.PSAsync})
	for i := range 40 {
		for rank, seconds := range []float64{.2, .3} {
			m.Add(launch.Observation{Rank: rank, Step: float64(i), StepTime: seconds, Throughput: math.NaN()})
		}
	}
	if r := m.Read(); math.Abs(r.StepTime-1/(1/.2+1/.3)) > 1e-9 {
		t.Errorf("read %g s, want 0.12: workers of 5 and 3.3 updates/s", r.StepTime)
	}
	if ranks := m.Ranks(); len(ranks) != 2 || math.Abs(ranks[1].Mean-.3) > 1e-9 || ranks[1].Steps != 40 {
		t.Errorf("ranks %+v, want the step times of both", ranks)
	}
}

// A slow configuration is measured with the few steps it makes.
func TestMeterOfASlowConfiguration(t *testing.T) {
	s := settings()
	s.Warmup, s.MaxSeconds = 50, 60
	m := meter.New(s, 0, data.Config{Workers: 1})
	n := feed(m, 1000, func(i int) float64 { return 40 + float64(i%2) })
	r := m.Read()
	if n != 4 || r.Steps != 3 || !r.Hurried || r.Warmup != 1 || math.IsInf(r.SE, 0) || r.SE <= 0 {
		t.Errorf("after %d steps of 40 s: %+v; want three steps, one dropped, and that there was a hurry", n, r)
	}
}

// Memory does not grow with the trial, and the mean stays that of all steps.
func TestMeterOfMillionsOfSteps(t *testing.T) {
	s := settings()
	s.RelPrecision, s.Warmup = 1e-12, 0
	m := meter.New(s, 0, data.Config{Workers: 1})
	rng := rand.New(rand.NewPCG(3, 1))
	var sum float64
	feed(m, 1_000_000, func(i int) float64 { x := rng.Float64(); sum += x; return x })
	if r := m.Read(); math.Abs(r.StepTime-sum/1e6) > 1e-9 || r.Steps != 1_000_000 || math.Abs(r.SD-math.Sqrt(1./12)) > 1e-3 {
		t.Errorf("read %+v, want %g s ± 0.29 of a million steps", r, sum/1e6)
	}
	if curve := m.Curve(1); len(curve) > 200 {
		t.Errorf("%d points, want at most 200", len(curve))
	}
}

// A bar that is redrawn every 0.1 s at most shows ten fast steps at once, and
// each slow one by itself; lines may come at once, or with a time stamp of whole
// seconds. The mean is that of the steps, not of the lines.
func TestMeterOfLinesOfSeveralSteps(t *testing.T) {
	const each = 20 // steps, of which one takes 0.51 s and the others 0.01 s: 0.035 s on average
	for name, shown := range map[string]func(now, last float64, step int) (at float64, ok bool){
		"bar":           func(now, last float64, _ int) (float64, bool) { return now, now-last >= .1 },
		"blocks":        func(now, _ float64, step int) (float64, bool) { return now, step%80 == 79 },
		"whole seconds": func(now, _ float64, _ int) (float64, bool) { return math.Floor(now), true },
	} {
		for _, told := range []bool{false, true} {
			s := settings()
			s.Warmup = 1
			m := meter.New(s, 0, data.Config{Workers: 1})
			now, last, from := 0., 0., 0
			for i := 1; i <= 300*each; i++ {
				if now += .01; i%each == 0 {
					now += .5
				}
				at, ok := shown(now, last, i)
				if !ok {
					continue
				}
				o := bare(time.Unix(0, int64(at*1e9)), 0, float64(i))
				if told {
					o.StepTime = (now - last) / float64(i-from)
				}
				last, from = now, i
				m.Add(o)
			}
			r := m.Read()
			if math.Abs(r.StepTime-.035) > .0002 || 2*r.SE > .005 {
				t.Errorf("%s, told %v: %g ± %g s, want 0.035", name, told, r.StepTime, 2*r.SE)
			}
		}
	}
}

// A counter that jumps, as where a run is resumed, makes one slow line neither
// thousands of steps nor the mean; a clock that is set back, as in autumn, loses none
// but the step at that time.
func TestMeterOfJumps(t *testing.T) {
	for name, at := range map[string]func(i int) (seconds, step, took float64){
		"counter": func(i int) (seconds, step, took float64) {
			switch {
			case i == 100:
				return float64(i) / 2, 5000, 30
			case i > 100:
				return float64(i) / 2, float64(4900 + i), .5
			}
			return float64(i) / 2, float64(i), .5
		},
		"clock": func(i int) (seconds, step, took float64) {
			if i > 100 {
				return float64(i)/2 - 60, float64(i), math.NaN()
			}
			return float64(i) / 2, float64(i), math.NaN()
		},
	} {
		m := meter.New(settings(), 0, data.Config{Workers: 1})
		for i := 1; i <= 400; i++ {
			seconds, step, took := at(i)
			o := bare(time.Unix(0, int64(seconds*1e9)), 0, step)
			o.StepTime = took
			m.Add(o)
		}
		if r := m.Read(); math.Abs(r.StepTime-.5) > .1 || r.Steps < 390 {
			t.Errorf("%s: %g s of %d steps, want about 0.5 s of 400", name, r.StepTime, r.Steps)
		}
	}
}

// bare is an observation that reports nothing but its step.
func bare(at time.Time, rank int, step float64) launch.Observation {
	nan := math.NaN()
	return launch.Observation{At: at, Rank: rank, Step: step, StepTime: nan, Throughput: nan, Loss: nan, GradSqr: nan, GradVar: nan, SyncTime: nan}
}
