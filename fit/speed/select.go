package speed

import (
	"math"
	"slices"

	"knee/data"
	"knee/fit/speed/form"
)

// maxRows bounds the rows of one fit. More hardly reduce the error, while the
// time of a prediction grows with the square.
const maxRows = 192

// selectRows keeps at most n rows by farthest-first traversal in the logarithms
// of the configuration (Gonzalez, "Clustering to minimize the maximum
// intercluster distance", 1985).
func selectRows(rows []row, n int, held []data.Measurement) []row {
	if len(rows) <= n {
		return rows
	}
	scale, knobs := scaleOf(rows), knobsOf(rows, held)
	xs := make([][]float64, len(rows))
	for i := range rows {
		p := form.NewPoint(rows[i].Config, scale)
		xs[i] = []float64{p.LnWorkers, p.LnNodes, p.LnServers, p.LnBatch + p.LnSplit, math.Log1p(p.Accum)}
		k, _ := knobCoordinates(knobs, rows[i].Config, form.OffsetsOf(rows[i].Architecture).Unit)
		xs[i] = append(xs[i], k...)
	}
	far := slices.Repeat([]float64{math.Inf(1)}, len(rows))
	var chosen []int
	for at := 0; len(chosen) < n; {
		chosen = append(chosen, at)
		far[at] = -1
		next := 0
		for i, x := range xs {
			if far[i] < 0 {
				continue
			}
			d := 0.
			if rows[i].GPUType != rows[at].GPUType {
				d = 1
			}
			for j, v := range x {
				d += sq(v - xs[at][j])
			}
			if far[i] = min(far[i], d); far[next] < far[i] {
				next = i
			}
		}
		at = next
	}
	slices.Sort(chosen)
	kept := make([]row, n)
	for i, at := range chosen {
		kept[i] = rows[at]
	}
	return kept
}
