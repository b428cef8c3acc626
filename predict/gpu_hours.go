package predict

import "knee/data"

// GPUHours returns the hours all workers together are occupied until the
// goal is reached, workers × time to target; zero without a goal. Parameter
// servers occupy no GPU and are not counted.
func GPUHours(a Answer) data.Estimate {
	return a.TimeToTarget.Scale(float64(a.Config.Workers) / 3600)
}
