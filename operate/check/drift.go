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
	Measured  float64       `json:"measured_s"` // s, as of StepTime
	Predicted data.Estimate `json:"predicted_s"`
	Change    float64       `json:"change"` // measured ÷ predicted − 1
	Refit     bool          `json:"refit"`  // measured lies outside the 90 % interval
}

// Compare compares a measured step time, in seconds, with a prediction.
func Compare(measured float64, predicted data.Estimate) Drift {
	d := Drift{Measured: measured, Predicted: predicted}
	if predicted.Mean > 0 {
		d.Change = measured/predicted.Mean - 1
	}
	d.Refit = measured < predicted.Lo || measured > predicted.Hi
	return d
}

// StepTime returns the step time of the job in seconds, as [data.Measurement]
// defines it. In synchronous training it is the slowest worker's: the median over
// numbered steps, else the largest median of a worker. In ps-async it is the time
// between two updates of the job, 1 ÷ the sum of the workers' updates per second.
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
		if !timed { // arrivals only: the step lasts as long as the slowest worker's part
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
