package main

import (
	"slices"

	"knee/data"
	"knee/internal/quantile"
)

// limit ends the slower two fifths of the measurements to fit at a time limit.
func (s *split) limit() {
	var times []float64
	for _, m := range s.train {
		times = append(times, m.StepTime)
	}
	slices.Sort(times)
	longest := quantile.Sorted(times, .6)
	s.train = slices.Clone(s.train)
	for i := range s.train {
		if m := &s.train[i]; m.StepTime > longest {
			m.Status, m.StepTime, m.SyncTime = data.Timeout, longest, 0
		}
	}
}
