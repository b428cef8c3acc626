package check

import (
	"maps"
	"math"
	"slices"

	"knee/data"
	"knee/internal/quantile"
)

// Drift is the measured step time of a job beside the predicted one.
type Drift struct {
	Measured  float64       `json:"measured_s"` // such as StepTime returns
	Predicted data.Estimate `json:"predicted_s"`
	Change    float64       `json:"change"` // measured ÷ predicted − 1
	Refit     bool          `json:"refit"`  // measured lies outside the 90 % interval
}

// Compare holds a measured step time, in seconds, against a prediction.
func Compare(measured float64, predicted data.Estimate) Drift {
	d := Drift{Measured: measured, Predicted: predicted}
	if predicted.Mean > 0 {
		d.Change = measured/predicted.Mean - 1
	}
	d.Refit = measured < predicted.Lo || measured > predicted.Hi
	return d
}

// StepTime is the step time of the job as [data.Measurement] has it. Where
// workers wait for each other it is the time of the slowest, by step if
// steps are numbered; in ps-async it is the time between updates of the
// whole job, the inverse of the workers' updates per second together.
func StepTime(steps []Step, mode data.Mode) float64 {
	all, timed := byWorker(steps), false
	slowest, numbered := map[int]float64{}, true
	for _, s := range steps {
		if s.Time > 0 {
			slowest[s.Step], timed = math.Max(slowest[s.Step], s.Time), true
			numbered = numbered && s.Step >= 0
		}
	}
	var most, updates float64
	for _, w := range all {
		times := w.times
		if !timed { // arrivals only: the own part of the slowest is the step
			times = w.own
		}
		if len(times) > 0 {
			most, updates = math.Max(most, quantile.Median(times)), updates+1/quantile.Median(times)
		}
	}
	switch {
	case mode == data.PSAsync:
		return 1 / updates
	case timed && numbered:
		return quantile.Median(slices.Collect(maps.Values(slowest)))
	}
	return most
}
