package plots

// NewSpeedByPS draws speed, in steps/s, against the number of parameter
// servers, one curve for each fixed number of workers: the other cut through
// the surface of [NewSpeedByWorkers]. Errors name the first field that
// cannot be drawn.
func NewSpeedByPS(s SpeedFigure) (*Chart, error) {
	return newSpeed(s, "ps (parameter servers)", "worker", "workers")
}
