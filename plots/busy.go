package plots

import (
	"fmt"
	"math"
	"slices"

	"knee/internal/quantile"
)

// busyPart returns until when a time axis that begins at zero has to go for
// something to be seen: to the end, unless a hundredth of what happens, such
// as a single job that takes for ever, would take up most of it. times are
// when something happens in each run.
func busyPart(times [][]float64) (until float64, cut bool) {
	var end float64
	for _, run := range times {
		sorted := slices.Sorted(slices.Values(run))
		until = math.Max(until, quantile.Sorted(sorted, 0.99))
		end = math.Max(end, sorted[len(sorted)-1])
	}
	const most = 2.5
	if !(until > 0) || end <= most*until {
		return end, false
	}
	return 1.25 * until, true
}

// cutNote says in a subtitle that an axis of hours ends before the last event.
func cutNote(subtitle string, until, end float64) string {
	note := fmt.Sprintf("the rest, from %s h to %s h, is not shown", number(until), number(end))
	if subtitle == "" {
		return note
	}
	return subtitle + "; " + note
}
