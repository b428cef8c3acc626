package profile

import "knee/data"

// LongestRun returns the points of the run that got furthest in samples,
// the one that says most about convergence.
func LongestRun(points []data.CurvePoint) []data.CurvePoint {
	furthest := map[string]float64{}
	longest := ""
	for _, p := range points {
		if x := p.Step * p.GlobalBatch; x > furthest[p.Run] {
			furthest[p.Run] = x
			if x > furthest[longest] {
				longest = p.Run
			}
		}
	}
	var run []data.CurvePoint
	for _, p := range points {
		if p.Run == longest {
			run = append(run, p)
		}
	}
	return run
}
