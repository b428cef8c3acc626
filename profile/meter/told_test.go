package meter

import (
	"math"
	"strings"
	"testing"
	"time"

	"knee/data"
	"knee/profile/launch"
)

// Told step times are compared with the arrival of the lines of the same rank.
// Every trial begins at 0 s, its first line comes after a start-up of 1 s, and it
// ends with its last line.
func TestContradiction(t *testing.T) {
	const n = 30
	// line returns a line of rank 0 that tells of a step.
	line := func(arrives, step, seconds float64) launch.Observation {
		o := bare(1+arrives, step)
		o.StepTime = seconds
		return o
	}
	each := func(of func(i float64) launch.Observation) (all []launch.Observation) {
		for i := range n {
			all = append(all, of(float64(i)))
		}
		return all
	}
	rate := func(arrives, step, throughput float64) launch.Observation {
		o := bare(1+arrives, step)
		o.Throughput = throughput
		return o
	}
	for _, c := range []struct {
		name  string
		lines []launch.Observation
		want  string // empty for agreement
	}{
		{"seconds", each(func(i float64) launch.Observation { return line(.1*i, i, .1) }), ""},
		{"rounded up", each(func(i float64) launch.Observation { return line(.016*i, i, .02) }), ""},
		{"milliseconds", each(func(i float64) launch.Observation { return line(.1*i, i, 100) }), "its 30 step times add up to 3e+03 s, but it took 3.9 s: they look like milliseconds: print step_time_ms, or divide by 1e3"},
		{"microseconds", each(func(i float64) launch.Observation { return line(.1*i, i, 1e5) }), "microseconds, or divide by 1e6"},
		{"twice as long", each(func(i float64) launch.Observation { return line(.1*i, i, .2) }), "its 30 step times add up to 6 s, but it took 3.9 s: a step time is that of one optimizer step, in seconds"},
		{"twice as long, after a start-up as long", each(func(i float64) launch.Observation { return line(.02*i, i, .04) }), "its step times add up to 1.16 s, but their lines came within 0.6 s"},
		{"of one worker", each(func(i float64) launch.Observation { return rate(.1*i, i, 160) }), "its 30 step times add up to 12 s, but it took 3.9 s: is the throughput that of one worker"},
		{"of all workers", each(func(i float64) launch.Observation { return rate(.1*i, i, 640) }), ""},
		{"every tenth step", each(func(i float64) launch.Observation { return line(i, 10*i, .1) }), ""},
		{"of ten steps", each(func(i float64) launch.Observation { return line(i, 10*i, 1) }), "its step times add up to 290 s for the steps that it counts, but their lines came within 30 s: is a step time that of several steps"},
		{"a part of the step", each(func(i float64) launch.Observation { return line(.1*i, i, .004) }), "its steps take 0.116 s of the 2.8 s in which their lines came"},
		{"one long pause", each(func(i float64) launch.Observation {
			pause := 0.
			if i > 9 {
				pause = 300
			}
			return line(.1*i+pause, i, .1)
		}), ""},
		{"in two bursts", each(func(i float64) launch.Observation { return line(3+3*float64(int(i)/15), i, .2) }), ""},
		{"in one burst at the end", each(func(i float64) launch.Observation { return line(5, i, .1) }), ""},
		{"in one burst, milliseconds", each(func(i float64) launch.Observation { return line(5, i, 100) }), "they look like milliseconds"},
		{"ranks that cannot be told apart", each(func(i float64) launch.Observation {
			o := line(.1*float64(int(i)/4), nan, .1)
			o.Rank = launch.UnknownRank
			return o
		}), ""},
		{"without a counter", each(func(i float64) launch.Observation { return line(.1*i, nan, .01) }), ""},
		{"too few", each(func(i float64) launch.Observation { return line(.1*i, i, 100) })[:2], ""},
		{"no arrival", each(func(i float64) launch.Observation {
			o := line(0, i, 100)
			o.At = time.Time{}
			return o
		}), ""},
	} {
		m := New(data.TrialSettings{MinSteps: 1000, MaxSeconds: 1e9, RelPrecision: .02}, 0, data.Config{Workers: 4, LocalBatch: 16})
		for _, o := range c.lines {
			m.Add(o)
		}
		text := m.Contradiction(c.lines[len(c.lines)-1].At.Sub(time.Unix(0, 0)).Seconds())
		if (text == "") != (c.want == "") || !strings.Contains(text, c.want) {
			t.Errorf("%s: %q, want …%s…", c.name, text, c.want)
		}
	}
}

// Told times that do not add up to the time between lines are those of some steps, or of a part
// of them: a step takes what the arrival of the lines says.
func TestStepTimeByArrival(t *testing.T) {
	for name, told := range map[string]func(i int) float64{
		"the last of ten steps, of which every fourth waits for data": func(int) float64 { return .1 },
		"the mean of rates":            func(int) float64 { return .14 },
		"the mean since a slow start":  func(i int) float64 { return .175 + .7/float64(i) },
		"the first of ten, each waits": func(int) float64 { return .24 },
	} {
		for _, log := range []bool{false, true} {
			m := New(data.TrialSettings{Warmup: -1, MinSteps: 1000, MaxSeconds: 1e9, RelPrecision: .02}, 0, data.Config{Workers: 1})
			m.ranks.log = log // of a job that may have been down
			for i := 1; i <= 60; i++ {
				o := bare(1.75*float64(i), 10*float64(i))
				o.StepTime = told(i)
				m.Add(o)
			}
			if r := m.Read(); (math.Abs(r.StepTime-.175) > 2*r.SE+1e-9 || !(r.Told > 0)) != log {
				t.Errorf("%s, log %v: %+v, want 0.175 s in a trial", name, log, r)
			}
		}
	}
}

// A difference below the precision that is asked for is left.
func TestStepTimeWithinPrecision(t *testing.T) {
	m := New(data.TrialSettings{Warmup: -1, MinSteps: 1000, MaxSeconds: 1e9, RelPrecision: .02}, 0, data.Config{Workers: 1})
	for i := range 400 {
		o := bare(.101*float64(i), float64(i))
		o.StepTime = .1
		m.Add(o)
	}
	if r := m.Read(); math.Abs(r.StepTime-.1) > 1e-9 || r.Told != 0 {
		t.Errorf("%+v, want the 0.1 s that the lines tell", r)
	}
}

// A rate that is smoothed from a first step of 20 s does not use up the trial's seconds.
func TestSmoothedRateDoesNotEndTheTrial(t *testing.T) {
	m := New(data.TrialSettings{Warmup: -1, MinSteps: 20, MaxSeconds: 60, RelPrecision: .02}, 0, data.Config{Workers: 1})
	at, smooth, n := 0., 20., 0
	for enough := false; !enough; n++ {
		o := bare(at, float64(n))
		o.StepTime = smooth
		enough = m.Add(o)
		at, smooth = at+.1, .9*smooth+.1*.1
	}
	if r := m.Read(); math.Abs(r.StepTime-.1) > .01 || at < 5 {
		t.Errorf("%+v after %d steps, want 0.1 s", r, n)
	}
}

// A progress bar that counts samples is doubted, one of steps is not.
func TestBarOfSamples(t *testing.T) {
	for by, doubted := range map[float64]bool{1: false, 64: true, 512: true, 96: false} {
		m := New(data.TrialSettings{Warmup: -1, MinSteps: 1000, MaxSeconds: 1e9, RelPrecision: .02}, 0, data.Config{Workers: 8, LocalBatch: 64})
		for i := range 41 {
			o := bare(.1*float64(i), math.Min(by*float64(i), 40*by-1))
			o.StepTime, o.Total = .1/by, 40*by-1
			m.Add(o)
		}
		if text := m.Contradiction(4); strings.Contains(text, "does it count samples") != doubted {
			t.Errorf("by %g: %q, doubted: want %v", by, text, doubted)
		}
	}
}

// Of several ranks the one that is metered is compared, of all ranks each.
func TestContradictionOfRanks(t *testing.T) {
	for _, c := range []struct {
		rank    int
		doubted bool
	}{{0, false}, {1, true}, {data.AllRanks, true}} {
		m := New(data.TrialSettings{MinSteps: 1000, MaxSeconds: 1e9, RelPrecision: .02}, c.rank, data.Config{Workers: 2})
		for i := range 30 {
			for rank, seconds := range []float64{.1, 100} {
				o := bare(.1*float64(i+1), float64(i))
				o.Rank, o.StepTime = rank, seconds
				m.Add(o)
			}
		}
		if text := m.Contradiction(3); (text != "") != c.doubted {
			t.Errorf("rank %d: %q, doubted: want %v", c.rank, text, c.doubted)
		}
	}
}

// A rate that a progress bar smooths after a slow first step is judged by the
// steps after warm-up.
func TestContradictionAfterWarmUp(t *testing.T) {
	m := New(data.TrialSettings{Warmup: -1, MinSteps: 1000, MaxSeconds: 1e9, RelPrecision: .02}, 0, data.Config{Workers: 1})
	at, smooth := 13., 10.
	for i := range 60 {
		o := bare(at, float64(i))
		o.StepTime = smooth
		m.Add(o)
		at, smooth = at+.1, .7*smooth+.3*.1
	}
	r := m.Read()
	if text := m.Contradiction(at); text != "" || r.Warmup < 5 {
		t.Errorf("%+v: %q, want agreement", r, text)
	}
}
