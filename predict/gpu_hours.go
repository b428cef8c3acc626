package predict

import "knee/data"

// GPUHours returns workers × time to the goal in GPU hours; zero without a
// goal. Parameter servers are not counted.
func GPUHours(a Answer) data.Estimate {
	return a.TimeToTarget.Scale(float64(a.Config.Workers) / 3600)
}
