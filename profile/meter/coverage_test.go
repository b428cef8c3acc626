package meter_test

import (
	"bufio"
	"compress/gzip"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"

	"knee/data"
	"knee/profile/launch"
	"knee/profile/meter"
)

// defaults are the default settings of a trial.
func defaults(b testing.TB) data.TrialSettings {
	s, err := data.ReadStudy(strings.NewReader("job: a\ncommand: [x]\nspace: {workers: [1]}\n"), "study")
	if err != nil {
		b.Fatal(err)
	}
	return s.Trial
}

// autoregressive returns step times of a mean of one tick whose deviations of
// a share cv correlate by phi from one step to the next.
func autoregressive(rng *rand.Rand, mean, cv, phi float64) func() float64 {
	x := rng.NormFloat64()
	return func() float64 {
		x = phi*x + math.Sqrt(1-phi*phi)*rng.NormFloat64()
		return mean * math.Max(1+cv*x, .05)
	}
}

// trial meters steps until there are enough, and returns the reading and the
// number of steps.
func trial(s data.TrialSettings, next func() float64) (meter.Reading, int) {
	m := meter.New(s, 0, data.Config{Workers: 1})
	for n := 1; ; n++ {
		if m.Add(launch.Observation{Step: float64(n), StepTime: next(), SyncTime: math.NaN(), Throughput: math.NaN()}) {
			return m.Read(), n
		}
	}
}

// rival is a simpler rule for comparison: MSER always, ten batch means to
// decide, after every 10 % more steps, and standard deviation over √n as the
// interval.
func rival(s data.TrialSettings, next func() float64) (r meter.Reading, n int) {
	var x []float64
	elapsed, look := 0.0, s.MinSteps
	for {
		x = append(x, next())
		n = len(x)
		elapsed += x[n-1]
		if n < look && elapsed < s.MaxSeconds || elapsed < .5 {
			continue
		}
		look = n + max(5, n/10)
		steady := x[truncation(x):]
		mean, sd := moments(steady)
		r = meter.Reading{StepTime: mean, SD: sd, SE: sd / math.Sqrt(float64(len(steady))), Steps: len(steady)}
		size := len(steady) / 10
		if elapsed >= s.MaxSeconds {
			return r, n
		}
		if size < 2 || len(steady) < s.MinSteps {
			continue
		}
		var means []float64
		for i := range 10 {
			m, _ := moments(steady[len(steady)-(10-i)*size:][:size])
			means = append(means, m)
		}
		if _, spread := moments(means); 2.262*spread/math.Sqrt(10) <= s.RelPrecision*mean {
			return r, n
		}
	}
}

func moments(x []float64) (mean, sd float64) {
	for _, v := range x {
		mean += v / float64(len(x))
	}
	for _, v := range x {
		sd += (v - mean) * (v - mean) / float64(len(x)-1)
	}
	return mean, math.Sqrt(sd)
}

func truncation(x []float64) int {
	best, at := math.Inf(1), 1
	for d := 1; d <= len(x)/2; d++ {
		if _, sd := moments(x[d:]); sd*sd/float64(len(x)-d) < best {
			best, at = sd*sd/float64(len(x)-d), d
		}
	}
	return at
}

type rule func(data.TrialSettings, func() float64) (meter.Reading, int)

// covers returns the share of trials whose ± 2 standard errors cover the true
// mean, and their mean length in steps.
func covers(s data.TrialSettings, r rule, truth float64, trials int, source func(*rand.Rand) func() float64) (share, length float64) {
	for seed := range uint64(trials) {
		reading, n := r(s, source(rand.New(rand.NewPCG(seed, 11))))
		if math.Abs(reading.StepTime-truth) <= 2*reading.SE {
			share += 1 / float64(trials)
		}
		length += float64(n) / float64(trials)
	}
	return share, length
}

// Twice the standard error covers the truth about as often as it should,
// although trials are stopped when it is small, and the rival's does not.
// The bounds are the 95 % that is meant less four standard errors of 150
// trials, and at .95 what the study of BenchmarkCoverage finds less as much.
func TestStandardErrorCovers(t *testing.T) {
	s := defaults(t)
	for _, tc := range []struct{ phi, least float64 }{{0, .88}, {.8, .88}, {.95, .81}} {
		source := func(rng *rand.Rand) func() float64 { return autoregressive(rng, .1, .1, tc.phi) }
		got, _ := covers(s, trial, .1, 150, source)
		if got < tc.least {
			t.Errorf("autocorrelation %g: %.3f of trials cover the truth, want at least %g", tc.phi, got, tc.least)
		}
	}
	source := func(rng *rand.Rand) func() float64 { return autoregressive(rng, .1, .1, .95) }
	if got, _ := covers(s, rival, .1, 50, source); got > .6 {
		t.Errorf("the rival covers the truth in %.3f of trials: the steps of this test are not correlated", got)
	}
}

// A machine whose speed drifts on every scale of time is allowed for as far as a
// trial can tell: steps are the sum of what does not correlate and of what
// changes over 10, 100 and 1000 steps, 3 % each, and a trial has 600. Of 150
// trials 0.69 cover the truth, and 0.28 with short memory alone; the bound is
// 0.69 less four standard errors.
func TestStandardErrorCoversDrift(t *testing.T) {
	source := func(rng *rand.Rand) func() float64 {
		parts := []func() float64{autoregressive(rng, 1, .03, 0), autoregressive(rng, 1, .03, .9), autoregressive(rng, 1, .03, .99), autoregressive(rng, 1, .03, .999)}
		return func() float64 {
			sum := -3.
			for _, part := range parts {
				sum += part()
			}
			return .1 * sum
		}
	}
	if got, _ := covers(defaults(t), trial, .1, 150, source); got < .53 {
		t.Errorf("%.3f of trials cover the truth, want at least 0.53", got)
	}
}

// slower returns steps of 0.1 s that vary by a share cv, independently, and
// take longer by a share that depends on the seconds since the start.
func slower(rng *rand.Rand, cv float64, share func(elapsed float64) float64) func() float64 {
	elapsed := 0.0
	return func() float64 {
		x := .1 * (1 + cv*rng.NormFloat64()) * (1 + share(elapsed))
		elapsed += x
		return x
	}
}

// decay is a warm-up: half as slow again, fading with a time constant.
func decay(seconds float64) func(float64) float64 {
	return func(elapsed float64) float64 { return .5 * math.Exp(-elapsed/seconds) }
}

// A warm-up that takes a good part of the trial is not cut off where its end
// only seems to be reached. With half of the trial dropped at most, as MSER
// does, 0.73 of trials cover the truth.
func TestStandardErrorCoversAfterWarmUp(t *testing.T) {
	source := func(rng *rand.Rand) func() float64 { return slower(rng, .05, decay(5)) }
	if got, _ := covers(defaults(t), trial, .1, 60, source); got < .9 {
		t.Errorf("%.3f of trials cover the truth, want at least 0.9", got)
	}
}

// BenchmarkChanges is the study of warm-up and of slow spells: 10 to 90 s that
// are 5 to 40 % slower, of 250 s in which a trial begins anywhere.
func BenchmarkChanges(b *testing.B) {
	sources := map[string]func(*rand.Rand) func() float64{
		"spell/cv=0.1/phi=0.8": func(rng *rand.Rand) func() float64 { return spell(rng, .1, .8) },
		"spell/cv=0.2/phi=0.5": func(rng *rand.Rand) func() float64 { return spell(rng, .2, .5) },
	}
	for _, seconds := range []float64{1, 5} {
		sources[fmt.Sprintf("warm-up/%gs", seconds)] = func(rng *rand.Rand) func() float64 { return slower(rng, .05, decay(seconds)) }
	}
	for name, source := range sources {
		b.Run(name, func(b *testing.B) {
			for range b.N {
				for label, r := range map[string]rule{"": trial, "rival-": rival} {
					share, length := covers(defaults(b), r, .1, 200, source)
					b.ReportMetric(share, label+"covered")
					b.ReportMetric(length, label+"steps")
				}
				b.ReportMetric(0, "ns/op")
			}
		})
	}
}

// spell returns the steps of a machine with one slow spell, of 0.1 s on average.
func spell(rng *rand.Rand, cv, phi float64) func() float64 {
	noise, x := autoregressive(rng, .1, cv, phi), make([]float64, 2500)
	slow, by, at := 100+rng.IntN(800), 1.05+.35*rng.Float64(), rng.IntN(2500)
	for i := range x {
		if x[i] = noise(); i < slow {
			x[i] *= by
		}
	}
	mean, _ := moments(x)
	return func() float64 { at = (at + 1) % len(x); return x[at] * .1 / mean }
}

// BenchmarkCoverage is the study behind docs/benchmarks-measuring.md: share of
// trials that cover the truth, and their mean length, beside those of the
// rival.
//
//	go test ./profile/meter -run '^$' -bench Coverage -benchtime 1x
func BenchmarkCoverage(b *testing.B) {
	s := defaults(b)
	const trials = 200
	for _, mean := range []float64{.1, .01} {
		for _, cv := range []float64{.03, .1, .3} {
			for _, phi := range []float64{0, .8, .95} {
				b.Run(fmt.Sprintf("step=%gs/cv=%g/phi=%g", mean, cv, phi), func(b *testing.B) {
					source := func(rng *rand.Rand) func() float64 { return autoregressive(rng, mean, cv, phi) }
					for range b.N {
						share, length := covers(s, trial, mean, trials, source)
						b.ReportMetric(share, "covered")
						b.ReportMetric(length, "steps")
						if mean == .1 { // the rival costs the square of the steps
							share, length = covers(s, rival, mean, trials, source)
							b.ReportMetric(share, "rival-covered")
							b.ReportMetric(length, "rival-steps")
						}
						b.ReportMetric(0, "ns/op")
					}
				})
			}
		}
	}
}

// BenchmarkRecorded does the same with the steps of real jobs, against their
// mean over the whole recording; a trial begins anywhere in it.
func BenchmarkRecorded(b *testing.B) {
	s := defaults(b)
	for _, c := range []struct {
		name, file string
		cut        func([]float64) []float64
	}{{"pytorch", "pytorch", slices.Clone[[]float64]}, {"pytorch-busy", "pytorch-busy", slices.Clone[[]float64]}, {"trainer", "trainer", slices.Clone[[]float64]}, {"trainer-cut", "trainer", withoutSlowestMinute}} {
		b.Run(c.name, func(b *testing.B) {
			x := c.cut(recorded(b, "testdata/"+c.file+".txt.gz"))
			mean, _ := moments(x)
			source := func(rng *rand.Rand) func() float64 {
				i := rng.IntN(len(x))
				return func() float64 { i = (i + 1) % len(x); return x[i] }
			}
			for range b.N {
				share, length := covers(s, trial, mean, 200, source)
				b.ReportMetric(share, "covered")
				b.ReportMetric(length, "steps")
				share, length = covers(s, rival, mean, 100, source)
				b.ReportMetric(share, "rival-covered")
				b.ReportMetric(length, "rival-steps")
				b.ReportMetric(0, "ns/op")
			}
		})
	}
}

// withoutSlowestMinute leaves out the 60 s in a row whose steps are the longest:
// as long as a trial may take, so that one within it sees no other speed.
func withoutSlowestMinute(x []float64) []float64 {
	from, to, most := 0, 0, 0.
	for i, j, sum := 0, 0, 0.; i < len(x); i++ {
		for ; j < len(x) && sum < 60; j++ {
			sum += x[j]
		}
		if mean := sum / float64(j-i); sum >= 60 && mean > most {
			from, to, most = i, j, mean
		}
		sum -= x[i]
	}
	return slices.Concat(x[:from], x[to:])
}

// recorded reads step times in microseconds, one a line.
func recorded(b *testing.B, path string) []float64 {
	f, err := os.Open(path)
	if err != nil {
		b.Fatal(err)
	}
	defer f.Close()
	z, err := gzip.NewReader(f)
	if err != nil {
		b.Fatal(err)
	}
	var x []float64
	for lines := bufio.NewScanner(z); lines.Scan(); {
		v, err := strconv.ParseFloat(lines.Text(), 64)
		if err != nil {
			b.Fatal(err)
		}
		x = append(x, v/1e6)
	}
	return x
}
