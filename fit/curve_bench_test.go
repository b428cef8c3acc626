package fit

import (
	"math"
	"path/filepath"
	"strconv"
	"testing"

	"knee/data"
	"knee/internal/quantile"
)

// BenchmarkConvergence reports, over recorded training runs, how far off the
// predicted step at which a metric is reached is, seen from the first tenth,
// fifth and two fifths of the run; the target is what the run had reached
// after four fifths. Runs predicted never to get there count as infinitely
// far off.
func BenchmarkConvergence(b *testing.B) {
	files, err := filepath.Glob(filepath.Join(benchDir(b), "training", "*.csv"))
	if err != nil || len(files) == 0 {
		b.Skip("no training runs in the measured data")
	}
	for _, percent := range []int{10, 20, 40} {
		b.Run(strconv.Itoa(percent), func(b *testing.B) {
			for range b.N {
				var errs []float64
				var covered, never float64
				for _, f := range files {
					points, _, err := data.LoadCurve(f)
					if err != nil {
						b.Fatal(err)
					}
					seen := points[:len(points)*percent/100]
					full, err := FitConvergence(points, 0)
					if err != nil || len(seen) < minCurvePoints {
						continue
					}
					at := full.Seen[0]
					for _, s := range full.Seen {
						if s.X <= .8*full.LastX {
							at = s
						}
					}
					target := at.Loss * full.Scale
					if full.Rising != nil {
						target = full.Rising.Ceiling - target
					}
					c, err := FitConvergence(seen, 0)
					if err != nil {
						b.Fatal(err)
					}
					e, err := c.StepsTo(target)
					if err != nil {
						never++
						errs = append(errs, math.Inf(1))
						continue
					}
					errs = append(errs, 100*math.Abs(e.Mean/at.X-1))
					if e.Lo <= at.X && at.X <= e.Hi {
						covered++
					}
				}
				n := float64(len(errs))
				b.ReportMetric(quantile.Median(errs), "median-error%")
				b.ReportMetric(100*covered/n, "coverage%")
				b.ReportMetric(100*never/n, "never%")
				b.ReportMetric(n, "runs")
			}
		})
	}
}
