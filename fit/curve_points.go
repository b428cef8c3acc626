package fit

import (
	"math"
	"slices"

	"knee/data"
)

// curveRun is one run's curve: steps at the initial batch against a loss.
type curveRun struct{ x, y []float64 }

// curveRuns splits curve points by run and picks x and y (see
// [FitConvergence]). Points without both are left out.
func curveRuns(points []data.CurvePoint, initialBatch float64) ([]curveRun, *RisingMetric) {
	useLoss := slices.ContainsFunc(points, func(p data.CurvePoint) bool { return finite(p.Loss) })
	pickX := curveX(points, initialBatch)
	at := map[string]int{}
	var runs []curveRun
	for _, p := range points {
		y := p.Metric
		if useLoss {
			y = p.Loss
		}
		x := pickX(p)
		if !finite(x) || !finite(y) || x < 0 {
			continue
		}
		i, ok := at[p.Run]
		if !ok {
			i = len(runs)
			at[p.Run] = i
			runs = append(runs, curveRun{})
		}
		runs[i].x, runs[i].y = append(runs[i].x, x), append(runs[i].y, y)
	}
	if useLoss {
		return runs, nil
	}
	return fallingRuns(runs)
}

// curveX returns which number of a point counts steps at the initial batch,
// the same for all points.
func curveX(points []data.CurvePoint, initialBatch float64) func(data.CurvePoint) float64 {
	has := func(get func(data.CurvePoint) float64) bool {
		return slices.ContainsFunc(points, func(p data.CurvePoint) bool { return finite(get(p)) })
	}
	progress := func(p data.CurvePoint) float64 { return p.Progress }
	step := func(p data.CurvePoint) float64 { return p.Step }
	switch {
	case has(progress):
		return progress
	case has(step):
		return func(p data.CurvePoint) float64 {
			if finite(p.GlobalBatch) && p.GlobalBatch > 0 && initialBatch > 0 {
				return p.Step * p.GlobalBatch / initialBatch
			}
			return p.Step
		}
	}
	return func(p data.CurvePoint) float64 { return p.Epoch }
}

// fallingRuns turns a rising metric into ceiling − metric. Whether it rises
// is decided by the means of the first and last third. The ceiling is 1 for
// a fraction, 100 for a percentage, otherwise a tenth above the best seen.
func fallingRuns(runs []curveRun) ([]curveRun, *RisingMetric) {
	var early, late, top float64
	top = math.Inf(-1)
	for _, r := range runs {
		third := max(len(r.y)/3, 1)
		for i, y := range r.y {
			top = math.Max(top, y)
			if i < third {
				early += y / float64(third)
			}
			if i >= len(r.y)-third {
				late += y / float64(third)
			}
		}
	}
	if len(runs) == 0 || late <= early {
		return runs, nil
	}
	ceiling := top + .1*math.Abs(top)
	switch {
	case top <= 1:
		ceiling = 1
	case top <= 100:
		ceiling = 100
	}
	for _, r := range runs {
		for i := range r.y {
			r.y[i] = ceiling - r.y[i]
		}
	}
	return runs, &RisingMetric{Ceiling: ceiling}
}

// Preprocess removes outliers from a training curve the way Optimus does
// (EuroSys'18, section 3.1): a point outside [min of the next 5, max of the
// previous 5] is replaced by the mean of its neighbours. The first point and
// the last have no such window and stay. The input is not changed.
func Preprocess(losses []float64) []float64 {
	const window = 5
	out := slices.Clone(losses)
	for i := 1; i < len(out)-1; i++ {
		hi := slices.Max(out[max(0, i-window):i])
		lo := slices.Min(losses[i+1 : min(len(losses), i+1+window)])
		if out[i] > hi || out[i] < lo {
			out[i] = (out[i-1] + losses[i+1]) / 2
		}
	}
	return out
}

func finite(v float64) bool { return !math.IsNaN(v) && !math.IsInf(v, 0) }
