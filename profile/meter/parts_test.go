package meter

import (
	"cmp"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"gonum.org/v1/gonum/stat"
	"gonum.org/v1/gonum/stat/distuv"
	"pgregory.net/rapid"

	"knee/data"
	"knee/profile/launch"
)

var nan = math.NaN()

// bare is an observation of rank 0 that reports nothing but its step.
func bare(second, step float64) launch.Observation {
	return launch.Observation{At: time.Unix(0, int64(second*1e9)), Step: step, StepTime: nan, SyncTime: nan, Throughput: nan, Loss: nan, GradSqr: nan, GradVar: nan}
}

// A reported step time takes precedence over throughput, and both over the
// counter; invalid times are ignored.
func TestClock(t *testing.T) {
	told := func(stepTime, throughput float64) func(*launch.Observation) {
		return func(o *launch.Observation) { o.StepTime, o.Throughput = stepTime, throughput }
	}
	for _, c := range []struct {
		name         string
		before, step float64
		change       func(*launch.Observation)
		want         float64 // 0: none
	}{
		{"counter", 10, 12, told(nan, nan), 2},
		{"step time", 10, 12, told(.5, 100), .5},
		{"throughput", 10, 12, told(nan, 100), .64},
		{"throughput beside a step time of nothing", 10, 12, told(0, 100), .64},
		{"nothing told but zeros", 10, 12, told(0, 0), 2},
		{"throughput without a counter", 10, nan, told(0, 100), .64},
		{"nothing without a counter", 10, nan, told(0, nan), 0},
		{"no time at all", 10, nan, told(0, math.Inf(1)), 0},
		{"longest step", 10, 12, told(longestStep, nan), longestStep},
		{"longer than a step takes", 10, 12, told(nan, 64/(2*longestStep)), longestStep},
		{"same step", 10, 10, told(.5, nan), 0},
		{"rank that lags", 10, 5, told(.5, nan), 0},
		{"another epoch", 10, 4, told(.5, nan), .5},
		{"another epoch, nothing told", 10, 4, told(nan, nan), 0},
		{"another epoch of eight steps", fewestToRestart, 3, told(.5, nan), .5},
		{"too early for another epoch", fewestToRestart - 1, 3, told(.5, nan), 0},
		{"no time passed", 10, 12, func(o *launch.Observation) { o.At = time.Unix(0, 0) }, 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			for _, sole := range []bool{false, true} {
				want := c.want
				if sole && (strings.HasPrefix(c.name, "too early") || c.name == "rank that lags") { // of one rank it is another epoch
					want = .5
				}
				clock := newClock(64, sole, true)
				clock.advance(bare(0, c.before))
				o := bare(4, c.step)
				c.change(&o)
				if got, ok := clock.advance(o); ok != (want > 0) || ok && got.seconds != want {
					t.Errorf("sole %v: %+v, %v; want %g", sole, got, ok, want)
				}
			}
		})
	}
}

// A run that continues from a checkpoint: the time it was down, and that of the steps
// it repeats, is of no step.
func TestClockOfResumedRun(t *testing.T) {
	for _, sole := range []bool{false, true} {
		clock, at, sum, n := newClock(64, sole, true), 0., 0., 0.
		for _, step := range []float64{100, 200, 300, 400, 500, 600, 700, 800, 900, 500, 600, 700, 800, 900, 1000} {
			if at += 100; step == 500 && n > 4 {
				at += 900
			}
			if s, ok := clock.advance(bare(at, step)); ok {
				sum, n = sum+s.seconds, n+1
			}
		}
		if mean := sum / n; math.Abs(mean-1) > 1e-9 || n != 13 {
			t.Errorf("sole %v: %g s a step, of %g lines; want 1 s, of 13", sole, mean, n)
		}
	}
}

// meanOf is the mean of what a clock reads of steps at seconds, and the number of lines.
func meanOf(c *clock, at, steps []float64) (mean, n float64) {
	var sum, counted float64
	for i, step := range steps {
		if s, ok := c.advance(bare(at[i], step)); ok {
			sum, counted, n = sum+s.seconds*s.count, counted+s.count, n+1
		}
	}
	return sum / counted, n
}

// A counter that jumps, at first or later, as of a resumed run, costs a line or two; one
// that is printed less often from there is followed.
func TestClockOfAJumpingCounter(t *testing.T) {
	for name, step := range map[string]func(i int) int{
		"first line": func(i int) int { return (i + 5000) * min(i, 1) },
		"tenth line": func(i int) int { return i + 5000*min(i/10, 1) },
		"a far jump": func(i int) int { return i + 900*min(i/30, 1) + 99000*min(i/31, 1) },
		"two jumps":  func(i int) int { return i + 5000*min(i/10, 1) + 5000*min(i/50, 1) },
		"less often": func(i int) int { return i + max(i-20, 0)*49 },
		"one in ten": func(i int) int { return 10 * i },
	} {
		for _, sole := range []bool{false, true} {
			var at, steps []float64
			for i := range 100 {
				per := 1.
				if i > 0 {
					if per = float64(step(i) - step(i-1)); per > 800 {
						per = 1
					}
					per += at[i-1]
				}
				at, steps = append(at, per), append(steps, float64(step(i)))
			}
			c := newClock(64, sole, true)
			c.advance(bare(at[0], steps[0]))
			c.advance(bare(at[1], steps[1])) // a first gap is of the warm-up
			if mean, n := meanOf(c, at[2:], steps[2:]); math.Abs(mean-1) > 1e-9 || n < 94 {
				t.Errorf("%s, sole %v: %g s a step, of %g lines; want 1 s of nearly 98", name, sole, mean, n)
			}
		}
	}
}

// Pauses that recur, such as for checkpoints, are part of the training. Two of a log are
// times in which the job was down; while a trial runs, it is not down.
func TestClockOfPauses(t *testing.T) {
	for _, c := range []struct {
		every int
		log   bool
		want  float64
	}{{20, true, 1.95}, {20, false, 1.95}, {400, true, 1}, {400, false, 1.038}, {250, true, 1}} {
		var at, steps []float64
		now := 0.
		for i := range 1000 {
			if now++; i > 0 && i%c.every == 0 {
				if now += 19; c.every == 250 { // three times
					now += 3600
				}
			}
			at, steps = append(at, now), append(steps, float64(i))
		}
		if mean, _ := meanOf(newClock(64, true, c.log), at, steps); math.Abs(mean/c.want-1) > .02 {
			t.Errorf("a pause every %d steps, log %v: %g s a step, want %g", c.every, c.log, mean, c.want)
		}
	}
}

// Where ranks are not told apart, one may end an epoch after another began the next.
func TestClockOfRanksThatLagBehindAnEpoch(t *testing.T) {
	for _, lag := range []float64{.5, 1.5, 3} {
		type line struct{ at, step float64 }
		var lines []line
		for i := range 400 {
			for r := range 4 {
				lines = append(lines, line{float64(i) + lag*float64((7*i+5*r)%4)/3, float64(1 + i%20)})
			}
		}
		slices.SortStableFunc(lines, func(a, b line) int { return cmp.Compare(a.at, b.at) })
		var at, steps []float64
		for _, l := range lines {
			at, steps = append(at, l.at), append(steps, l.step)
		}
		if mean, n := meanOf(newClock(64, false, true), at, steps); math.Abs(mean-1) > .03 || n < 300 {
			t.Errorf("lag of %g steps: %g s a step, of %g lines; want 1 s of most of 400", lag, mean, n)
		}
	}
}

// A point of a curve is the mean of consecutive observations; there are at most
// 200 points, and more than 100 after so many observations.
func TestCurvePointsAreMeans(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		known := rapid.SampledFrom([]float64{1, 2, 5, nan, math.Inf(1)})
		n := rapid.SampledFrom([]int{1, 150, 199, 200, 201, 400, 401, 900}).Draw(t, "observations")
		losses := rapid.SliceOfN(known, n, n).Draw(t, "losses")
		var c curve
		for i, loss := range losses {
			c.add(launch.Observation{Step: float64(i), Loss: loss, GradSqr: 2 * loss, GradVar: 3 * loss})
		}
		if n := len(c.sums); n > 2*mostPoints || n <= mostPoints && n < len(losses) {
			t.Fatalf("%d points of %d observations", n, len(losses))
		}
		near := func(got, want float64) bool {
			return math.IsNaN(got) && math.IsNaN(want) || math.Abs(got-want) < 1e-9
		}
		for i, p := range c.sums {
			group := losses[i*c.per : min((i+1)*c.per, len(losses))]
			finite := slices.DeleteFunc(slices.Clone(group), func(v float64) bool { return math.IsNaN(v - v) })
			loss, step := stat.Mean(finite, nil), float64(i*c.per)+float64(len(group)-1)/2
			if !near(p[0].value(), step) || !near(p[1].value(), loss) || !near(p[2].value(), 2*loss) || !near(p[3].value(), 3*loss) {
				t.Fatalf("point %d is %+v, want step %g and loss %g", i, p, step, loss)
			}
		}
	})
}

// batchesOf puts values into batches of some size, the last one perhaps smaller.
func batchesOf(x []float64, size int) []batch {
	var bs []batch
	for part := range slices.Chunk(x, size) {
		var b batch
		for _, v := range part {
			b.add(batch{n: 1, steps: 1, sum: v, sq: v * v})
		}
		bs = append(bs, b)
	}
	return bs
}

// The means behind a standard error are of equal numbers of consecutive steps,
// without at most one batch at either end.
func TestMeansAreOfEqualBatches(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		x := make([]float64, rapid.IntRange(0, 700).Draw(t, "steps"))
		for i := range x {
			x[i] = float64(i)
		}
		size := rapid.IntRange(1, 5).Draw(t, "size")
		bs := batchesOf(x, size)
		got := means(bs)
		per := size
		for len(bs)*size > per*mostMeans {
			per += size
		}
		if len(bs) <= 1 {
			per = len(x)
		}
		if len(got) > mostMeans || len(got) < len(x)/max(per, 1)-1 {
			t.Fatalf("%d means of %d steps", len(got), len(x))
		}
		for i, m := range got {
			if first := m - float64(per-1)/2; first < -1e-9 || first+float64(per) > float64(len(x))+1e-9 || i > 0 && math.Abs(m-got[i-1]-float64(per)) > 1e-9 {
				t.Fatalf("means %v of %d steps, want those of %d in a row", got, len(x), per)
			}
		}
	})
}

// Merging keeps the sums, and all batches but the first have k parts.
func TestMergedKeepsSums(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var bs []batch
		for i := range rapid.IntRange(0, 20).Draw(t, "batches") {
			bs = append(bs, batch{n: 1, steps: 1, sum: float64(i), sq: 1, sync: 2, syncs: 1})
		}
		k := rapid.IntRange(1, 6).Draw(t, "k")
		next := 0
		for i, b := range merged(bs, k) {
			var want batch
			for range b.n {
				want.n, want.steps, want.sum, want.sq, want.sync, want.syncs = want.n+1, want.steps+1, want.sum+float64(next), want.sq+1, want.sync+2, want.syncs+1
				next++
			}
			if b != want || b.n > k || b.n < 1 || i > 0 && b.n < k {
				t.Fatalf("batch %d of %d is %+v, want %+v", i, k, b, want)
			}
		}
		if next != len(bs) {
			t.Fatalf("%d of %d steps", next, len(bs))
		}
	})
}

// A summary is that of the single steps; one step has no standard deviation.
func TestSummary(t *testing.T) {
	x := []float64{.001, .001001, .0010005, .001002, .000999}
	n, mean, sd, sync := summary(batchesOf(x, 2))
	wantMean, wantSD := stat.MeanStdDev(x, nil)
	if n != 5 || math.Abs(mean-wantMean) > 1e-15 || math.Abs(sd-wantSD) > 1e-10 || sync != 0 {
		t.Errorf("%d steps, %g ± %g, %g; want %g ± %g", n, mean, sd, sync, wantMean, wantSD)
	}
	if n, mean, sd, _ := summary(batchesOf([]float64{.2}, 1)); n != 1 || mean != .2 || sd != 0 {
		t.Errorf("one step: %d, %g ± %g", n, mean, sd)
	}
	if n, mean, sd, sync := summary(nil); n != 0 || mean != 0 || sd != 0 || sync != 0 {
		t.Errorf("no step: %d, %g ± %g, %g", n, mean, sd, sync)
	}
	var s series
	for _, sync := range []float64{0, .5, nan} {
		s.add(time.Time{}, step{seconds: 1, sync: sync})
	}
	if _, _, _, sync := summary(s.batches); sync != .25 {
		t.Errorf("0, 0.5 and an unknown part are synchronising: %g on average, want 0.25", sync)
	}
}

// Each model is a correlation, the models weigh the same, and their parameters
// are distributed as in the prior: φ as the sine of a uniform angle, H
// uniformly from ½ to 1. The sum of m steps of fractional Gaussian noise varies
// as m^2H.
func TestCorrelations(t *testing.T) {
	all := correlations()
	weight, squares, exponents := 0., 0., []float64{}
	for i, c := range all {
		if c.at(0) != 1 {
			t.Errorf("correlation %d at no distance is %g", i, c.at(0))
		}
		weight += 1 / float64(c.of)
		switch {
		case i == 0:
			if c.at(1) != 0 || c.at(7) != 0 {
				t.Error("independent steps correlate")
			}
		case i <= shortMemories:
			phi := c.at(1)
			squares += phi * phi / shortMemories
			if mirror := all[shortMemories+1-i].at(1); math.Abs(mirror+phi) > 1e-12 || math.Abs(c.at(3)-phi*phi*phi) > 1e-12 {
				t.Errorf("autocorrelation %g: %g three apart, opposite %g", phi, c.at(3), mirror)
			}
		default:
			sum := func(m int) (v float64) {
				for i := range m {
					for j := range m {
						v += c.at(math.Abs(float64(i - j)))
					}
				}
				return v
			}
			exponents = append(exponents, math.Log2(sum(2))/2)
			if got, want := sum(9), math.Pow(9, math.Log2(sum(2))); math.Abs(got-want) > 1e-9 {
				t.Errorf("nine steps vary by %g, want %g", got, want)
			}
		}
	}
	if len(all) != 1+shortMemories+longMemories || math.Abs(weight-3) > 1e-12 || math.Abs(squares-.5) > 1e-12 {
		t.Errorf("%d correlations of weight %g; mean φ² %g, want ½", len(all), weight, squares)
	}
	for i, h := range exponents {
		if want := .5 + .5*(float64(i)+.5)/longMemories; math.Abs(h-want) > 1e-12 {
			t.Errorf("exponent %g, want %g", h, want)
		}
	}
}

// An interval scales with the step times; whether they are equal depends on the
// relative deviation.
func TestAlike(t *testing.T) {
	for _, scale := range []float64{1e-6, 1, 1e6} {
		x := func(spread float64) []float64 {
			return []float64{scale, scale * (1 + spread), scale, scale * (1 + spread)}
		}
		if credible95(x(1e-10)) != 0 || !(credible95(x(1e-7)) > 0) {
			t.Errorf("steps of %g s: ± %g, ± %g", scale, credible95(x(1e-10)), credible95(x(1e-7)))
		}
		one, scaled := make([]float64, mostMeans), make([]float64, mostMeans)
		for i := range one {
			one[i] = 1 + .1*math.Sin(float64(i*i))
			scaled[i] = scale * one[i]
		}
		if got, want := credible95(scaled), scale*credible95(one); math.Abs(got-want) > 1e-6*want {
			t.Errorf("± %g of steps of %g s, want %g", got, scale, want)
		}
	}
}

// The standard error is half of the half-width of the 95 % interval.
func TestStandardErrorIsHalfTheInterval(t *testing.T) {
	x := []float64{1, 1.1, .9, 1.05, 1.2, .95, 1}
	if got := standardError(batchesOf(x, 1)); 2*got != credible95(x) {
		t.Errorf("standard error %g, interval ± %g", got, credible95(x))
	}
}

// Warm-up ends where the dropped differ from the rest by more than the 5 %
// quantile over all truncations, in standard errors of their difference.
func TestWarmUpLimit(t *testing.T) {
	for _, excess := range []float64{.98, 1.02} {
		rest := make([]float64, 37)
		for i := range rest {
			rest[i] = 1 + .01*math.Sin(float64(i*i))
		}
		kept := stat.Mean(rest, nil)
		se := standardError(batchesOf(rest, 1))
		limit := distuv.UnitNormal.Quantile(1-.05/40) * math.Hypot(se, se*math.Sqrt(37./2))
		slow := kept + excess*limit
		x := slices.Concat([]float64{slow, slow, slow}, rest)
		if mser(batchesOf(x, 1)) != 3 {
			t.Fatalf("MSER truncates at %d, want 3", mser(batchesOf(x, 1)))
		}
		want := 1
		if excess > 1 {
			want = 3
		}
		if got := warmup(batchesOf(x, 1)); got != want {
			t.Errorf("%g of the limit: %d dropped, want %d", excess, got, want)
		}
	}
	if got := warmup(nil); got != 0 {
		t.Errorf("%d dropped of nothing", got)
	}
}

func meterOf(s data.TrialSettings) *Meter { return New(s, 0, data.Config{Workers: 1}) }

func add(m *Meter, n int, seconds float64) bool {
	return m.Add(launch.Observation{Step: float64(n), StepTime: seconds, SyncTime: nan, Throughput: nan})
}

// A trial of equal steps ends at the first step allowed: one dropped as
// warm-up, min_steps more, and half a second after the first.
func TestFirstLook(t *testing.T) {
	for _, c := range []struct {
		seconds float64
		want    int
	}{{1, 21}, {1. / 64, 33}, {1. / 128, 65}} {
		m := meterOf(data.TrialSettings{Warmup: -1, MinSteps: 20, MaxSeconds: 1e9, RelPrecision: .02})
		n := 1
		for !add(m, n, c.seconds) {
			n++
		}
		if n != c.want {
			t.Errorf("steps of %g s: ended after %d, want %d", c.seconds, n, c.want)
		}
	}
}

// The number of steps at the next decision grows by the squared ratio of the
// precision to the wanted one, by 1.25 at least and 2 at most, at any step
// time.
func TestNextLook(t *testing.T) {
	for _, c := range []struct{ wanted, low, high float64 }{
		{.04, 1.25, 1.25}, {.0305, 1.25, 2}, {.001, 2, 2},
	} {
		for _, scale := range []float64{.1, 1, 50} {
			m := meterOf(data.TrialSettings{Warmup: -1, MinSteps: 20, MaxSeconds: 1e9, RelPrecision: c.wanted})
			next := 21
			for n := 1; n < 200; n++ {
				enough := add(m, n, scale*(1+.1*math.Sin(float64(n*n))))
				if n != next {
					if enough {
						t.Fatalf("ended at %d, looked at %d", n, next)
					}
					continue
				}
				r := m.Read()
				precision := 2 * r.SE / r.StepTime
				if enough != (precision <= c.wanted) {
					t.Fatalf("precision %g, wanted %g: ended %v", precision, c.wanted, enough)
				}
				if enough {
					break
				}
				growth := min(max(math.Pow(precision/c.wanted, 2), 1.25), 2)
				if next = int(math.Ceil(float64(n) * growth)); m.next != next {
					t.Fatalf("precision %g, wanted %g: next look at %d, want %d", precision, c.wanted, m.next, next)
				}
			}
		}
	}
}

// A trial ends max_seconds after its first step with three steps after warm-up,
// otherwise after twice that.
func TestTimeIsUp(t *testing.T) {
	for _, c := range []struct{ warmup, seconds, want int }{
		{0, 20, 4}, {0, 15, 5}, {0, 12, 6}, {2, 15, 5}, {4, 20, 7}, {4, 10, 7}, {50, 40, 4}, {50, 30, 5}, {50, 10, 13},
	} {
		m := meterOf(data.TrialSettings{Warmup: c.warmup, MinSteps: 20, MaxSeconds: 60, RelPrecision: .02})
		n := 1
		for !add(m, n, float64(c.seconds)) {
			n++
		}
		if n != c.want {
			t.Errorf("steps of %d s, %d of them warm-up: ended after %d, want %d", c.seconds, c.warmup, n, c.want)
		}
	}
}

// A first step that takes longer than max_seconds, as where a GPU's libraries
// are loaded or the model is compiled, leaves the others their time.
func TestLongFirstStep(t *testing.T) {
	m := meterOf(data.TrialSettings{Warmup: -1, MinSteps: 6, MaxSeconds: 3, RelPrecision: .001})
	n := 1
	for seconds := 9.; !add(m, n, seconds); n++ {
		seconds = .1 + .1*float64(n%2)
	}
	if r := m.Read(); n < 19 || n > 23 || r.StepTime < .14 || r.StepTime > .16 {
		t.Errorf("after a first step of 9 s, ended after %d steps of .15 s with %+v, want about 3 s of them", n, r)
	}
}

// The interval holds the mean of steps that are printed with few digits, however little
// they differ.
func TestRounding(t *testing.T) {
	rng := rand.New(rand.NewPCG(4, 2))
	for _, sd := range []float64{.01, .1, .3, .6, 2} {
		inside, wide := 0, 0.
		for range 100 {
			m := meterOf(data.TrialSettings{Warmup: -1, MinSteps: 1000, MaxSeconds: 1e9, RelPrecision: .02})
			mean := 20 + rng.Float64()
			for n := range 400 {
				o := bare(float64(n), float64(n))
				o.StepTime = math.Round(mean + sd*rng.NormFloat64())
				o.Rounding = 1 / o.StepTime
				if n == 0 { // a first one that is slow, of a rate, is warm-up
					o.StepTime, o.Rounding = 500, .5
				}
				m.Add(o)
			}
			r := m.Read()
			if wide += 2 * r.SE / 100; math.Abs(r.StepTime-mean) < 2*r.SE {
				inside++
			}
		}
		if inside < 93 || wide > .6 || sd > 1 && wide > .4 {
			t.Errorf("steps of a standard deviation of %g units: %d of 100 inside, of half-width %g", sd, inside, wide)
		}
	}
}

// A trial is hurried if it has fewer steps than the warm-up and three more.
func TestHurried(t *testing.T) {
	m := meterOf(data.TrialSettings{Warmup: 4, MinSteps: 20, MaxSeconds: 1e9, RelPrecision: .02})
	for n := 1; n <= 7; n++ {
		add(m, n, 1)
		if r := m.Read(); r.Hurried != (n < 7) || r.Steps+r.Warmup != n {
			t.Errorf("after %d steps: %+v", n, r)
		}
	}
}

// A wanted rank beyond the workers is the last one. Means are kept per rank.
// AllRanks gives the curve of the lowest rank, and continues without a silent
// one.
func TestRanks(t *testing.T) {
	if got := newRanks(4, data.Config{Workers: 4}, false).want; got != 3 {
		t.Errorf("rank %d is metered for 4 of 4 workers, want 3", got)
	}
	m := New(data.TrialSettings{MinSteps: 1000, MaxSeconds: 1e9, RelPrecision: .02}, data.AllRanks, data.Config{Workers: 2})
	told := func(rank, step int, seconds float64) {
		o := bare(float64(step), float64(step))
		o.Rank, o.StepTime, o.Loss = rank, seconds, float64(10+rank)
		m.Add(o)
	}
	for step := 1; step <= 3; step++ {
		told(0, step, float64(2*step))
		told(1, step, float64(step))
	}
	if got := m.Ranks(); len(got) != 2 || got[0] != (RankTime{0, 3, 4}) || got[1] != (RankTime{1, 3, 2}) {
		t.Errorf("ranks %+v, want means of 4 and 2 s", got)
	}
	// Rank 0 alone, and then both, rank 1 a step behind.
	if r := m.Read(); r.Steps != 3 || math.Abs(r.StepTime-(2+(4+1)/2.+(6+2)/2.)/3) > 1e-12 {
		t.Errorf("read %+v, want 3 steps of 2.83 s", r)
	}
	for waiting := 2; waiting <= mostPending+1; waiting++ {
		if told(1, 2+waiting, 7); waiting <= mostPending && m.series.steps != 3 {
			t.Fatalf("a rank is silent, %d steps of the other wait, and %d are counted", waiting, m.series.steps)
		}
	}
	if m.series.steps != 4 {
		t.Errorf("%d steps counted after %d of one rank alone, want 4", m.series.steps, mostPending+1)
	}
	for _, p := range m.Curve(1) {
		if !math.IsNaN(p.GlobalBatch) {
			t.Errorf("a batch of %g, which nobody set", p.GlobalBatch)
		}
		if p.Step <= 3 && p.Loss != 10 {
			t.Errorf("the loss at step %g is %g, want that of rank 0", p.Step, p.Loss)
		}
	}
}

// Lines of unknown rank are metered.
func TestUnknownRankIsNoRank(t *testing.T) {
	m := meterOf(data.TrialSettings{MinSteps: 9, MaxSeconds: 99, RelPrecision: .02})
	o := bare(1, 1)
	o.Rank, o.StepTime = launch.UnknownRank, 3
	m.Add(o)
	o = bare(1, 1) // no time
	o.Rank = 5
	m.Add(o)
	if got := m.Ranks(); len(got) != 0 {
		t.Errorf("ranks %+v, want none", got)
	}
	if r := m.Read(); r.StepTime != 3 {
		t.Errorf("read %+v, want a step of 3 s", r)
	}
}
