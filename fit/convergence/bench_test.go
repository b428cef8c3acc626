package convergence

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"testing"

	"gonum.org/v1/gonum/floats"

	"knee/data"
	"knee/internal/bench"
	"knee/internal/quantile"
)

// recordedRun is one run of the measured data.
type recordedRun struct {
	job    string
	batch  int
	points []data.CurvePoint
	loss   []float64 // falling: −metric if the metric rises
	rises  bool
}

// recordedRuns loads the recorded runs that can be cut at 10, 20 and 40 %.
func recordedRuns(tb testing.TB) []recordedRun {
	files, err := filepath.Glob(filepath.Join(bench.Dir(tb), "training", "*.csv"))
	if err != nil || len(files) == 0 {
		tb.Skip("no training runs in the measured data")
	}
	name := regexp.MustCompile(`([^/]+)-batch(\d+)\.csv$`)
	var runs []recordedRun
	for _, f := range files {
		points, _, err := data.LoadTable(f, data.ReadCurve)
		if err != nil {
			tb.Fatal(err)
		}
		m := name.FindStringSubmatch(filepath.ToSlash(f))
		if m == nil || len(points) < 10 {
			continue
		}
		batch, _ := strconv.Atoi(m[2])
		r := recordedRun{job: m[1], batch: batch, points: points}
		r.rises = points[len(points)-1].Metric > points[0].Metric
		for _, p := range points {
			if r.rises {
				p.Metric = -p.Metric
			}
			r.loss = append(r.loss, p.Metric)
		}
		runs = append(runs, r)
	}
	slices.SortStableFunc(runs, func(a, b recordedRun) int {
		return cmp.Or(cmp.Compare(a.job, b.job), cmp.Compare(a.batch, b.batch))
	})
	return runs
}

// target returns a share of a run's best (of the metric, or of the way from
// first to best), as recorded, and the first epoch that reached it.
func (r recordedRun) target(part float64, ofTheWay bool) (float64, int) {
	best := slices.Min(r.loss)
	t := best * part
	switch {
	case ofTheWay:
		t = r.loss[0] + part*(best-r.loss[0])
	case !r.rises:
		t = best / part
	}
	at := slices.IndexFunc(r.loss, func(l float64) bool { return l <= t })
	if r.rises {
		return -t, at + 1
	}
	return t, at + 1
}

// templatesOf returns the two runs of the same job nearest in batch size.
func templatesOf(runs []recordedRun, r recordedRun) [][]data.CurvePoint {
	var others []recordedRun
	for _, o := range runs {
		if o.job == r.job && o.batch != r.batch {
			others = append(others, o)
		}
	}
	far := func(o recordedRun) float64 { return math.Abs(math.Log(float64(o.batch) / float64(r.batch))) }
	slices.SortStableFunc(others, func(a, b recordedRun) int { return cmp.Compare(far(a), far(b)) })
	return [][]data.CurvePoint{others[0].points, others[1].points}
}

// outcome is the accuracy of one method over many questions.
type outcome struct {
	errs           []float64 // percent
	widths         []float64 // upper end of the interval over the lower
	covered, never float64
	byJob, logs    map[string][]float64
	inside         map[string]float64 // runs inside the interval, by job
}

func (o *outcome) add(job string, e data.Estimate, err error, truth float64) {
	if o.byJob == nil {
		o.byJob, o.logs, o.inside = map[string][]float64{}, map[string][]float64{}, map[string]float64{}
	}
	off := math.Inf(1)
	if err != nil {
		o.never++
	} else {
		off = 100 * math.Abs(e.Mean/truth-1)
		o.widths = append(o.widths, e.Hi/e.Lo)
		// Epochs and ends of intervals are whole numbers.
		if e.Lo <= truth*(1+1e-9) && truth <= e.Hi*(1+1e-9) {
			o.covered++
			o.inside[job]++
		}
	}
	o.errs = append(o.errs, off)
	o.byJob[job] = append(o.byJob[job], off)
	o.logs[job] = append(o.logs[job], math.Log(e.Mean/truth))
}

func (o *outcome) report(b *testing.B) {
	n := float64(len(o.errs))
	b.ReportMetric(quantile.Median(o.errs), "median-error%")
	b.ReportMetric(100*o.covered/n, "coverage%")
	b.ReportMetric(100*o.never/n, "never%")
	b.ReportMetric(quantile.Median(o.widths), "hi/lo")
	b.ReportMetric(n, "questions")
	b.ReportMetric(0, "ns/op")
}

// method is a way to answer, with a prior for each job, learned without that
// job.
type method struct {
	name     string
	settings func(r recordedRun) Settings
	known    map[string]*prior
	blind    bool // only the horizon, which ignores the curve
}

// BenchmarkConvergence asks when recorded training runs first reach 90, 95 and
// 98 % of their best, given their first 10, 20 and 40 %, for targets not
// reached there. Each method sees the same record. A run predicted never to
// reach the target has an infinite error. The rivals are Optimus's curve and
// the horizon alone.
func BenchmarkConvergence(b *testing.B) {
	runs := recordedRuns(b)
	without := leftOut(b)
	planned := func(r recordedRun) Settings { return Settings{PlannedEpochs: float64(len(r.points))} }
	finished := func(r recordedRun) Settings {
		s := planned(r)
		s.Templates = templatesOf(runs, r)
		return s
	}
	methods := []method{
		{"optimus", func(recordedRun) Settings { return Settings{Family: "optimus"} }, without, false},
		{"horizon-planned", planned, without, true},
		{"alone-planned", planned, without, false},
		{"horizon-finished", finished, without, true},
		{"finished", finished, without, false},
	}
	for _, ofTheWay := range []bool{false, true} {
		for _, m := range methods {
			for _, percent := range []int{10, 20, 40} {
				of := "metric"
				if ofTheWay {
					of = "way"
				}
				b.Run(fmt.Sprintf("of=%s/by=%s/seen=%d", of, m.name, percent), func(b *testing.B) {
					var o outcome
					for range b.N {
						o = ask(b, runs, m, percent, ofTheWay)
					}
					o.report(b)
				})
			}
		}
	}
}

// horizonAlone is the rival that ignores the curve.
func (c *Curve) horizonAlone(target float64) data.Estimate {
	h := c.horizon(c.toLoss(target))
	a := newArrival(c, h.end, false)
	for j, x := range a.x {
		a.mass[j] = h.density(x) * a.looks[j]
	}
	floats.Scale(1/floats.Sum(a.mass), a.mass)
	return a.estimate()
}

// ask puts the questions of [BenchmarkConvergence] to a method.
func ask(tb testing.TB, runs []recordedRun, m method, percent int, ofTheWay bool) outcome {
	var o outcome
	for _, r := range runs {
		n := max(len(r.points)*percent/100, 2)
		var c *Curve
		fitErr := errors.New("not fitted")
		for _, part := range []float64{.90, .95, .98} {
			target, epoch := r.target(part, ofTheWay)
			if epoch <= n {
				continue
			}
			if c == nil {
				if c, fitErr = Fit(r.points[:n], 0, m.settings(r)); fitErr == nil {
					c.known = m.known[r.job]
				}
			}
			var e data.Estimate
			err := fitErr
			if err == nil {
				if e, err = stepsTo(c, target); m.blind {
					e, err = c.horizonAlone(target), nil
				}
			}
			o.add(r.job, e, err, r.points[epoch-1].Progress)
		}
	}
	if testing.Verbose() {
		for _, j := range []string{"cifar10", "deepspeech2", "imagenet", "ncf", "yolov3"} {
			n := len(o.byJob[j])
			tb.Logf("%s %s n=%d median %.1f bias %.2f coverage %.0f", o.name(percent), j, n,
				quantile.Median(o.byJob[j]), quantile.Median(o.logs[j]), 100*o.inside[j]/float64(n))
		}
	}
	return o
}

func (o *outcome) name(percent int) string { return fmt.Sprintf("%d%%", percent) }
