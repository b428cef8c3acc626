package check

import (
	"math"

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
	times := map[string][]float64{}
	slowest := map[int]float64{}
	own := ownTimes(steps)
	for _, s := range steps {
		if s.Time > 0 {
			times[s.Worker] = append(times[s.Worker], s.Time)
			slowest[s.Step] = math.Max(slowest[s.Step], s.Time)
		}
	}
	if len(times) == 0 { // arrivals only: the own part of the slowest is the step
		times = own
	}
	if mode == data.PSAsync {
		var updates float64
		for _, t := range times {
			updates += 1 / quantile.Median(t)
		}
		return 1 / updates
	}
	if _, unnumbered := slowest[-1]; !unnumbered && len(slowest) > 0 {
		var all []float64
		for _, t := range slowest {
			all = append(all, t)
		}
		return quantile.Median(all)
	}
	var most float64
	for _, t := range times {
		most = math.Max(most, quantile.Median(t))
	}
	return most
}
