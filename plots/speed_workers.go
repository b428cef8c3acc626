package plots

// NewSpeedByWorkers draws speed, in steps/s, against the number of workers,
// one curve for each fixed number of parameter servers, as in the speed
// figures of Optimus (Peng et al., EuroSys 2018, §3.2). In synchronous
// training the curves bend; in asynchronous training each ps count has its
// own ceiling. Errors name the first field that cannot be drawn.
func NewSpeedByWorkers(s SpeedFigure) (*Chart, error) {
	return newSpeed(s, "workers", "ps", "ps")
}
