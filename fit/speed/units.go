package speed

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"knee/data"
	"knee/internal/grouped"
)

// maxCompared bounds the rows with which each is compared.
const maxCompared = 500

// leaveOutUnits leaves out measurements in another unit: slower by [data.UnitGap] than four in
// five of those with at least as many workers and nodes, or faster than those with at most
// as many. More than a fifth of all may be the job's nature.
func leaveOutUnits(ms []data.Measurement) (kept []data.Measurement, outliers []string) {
	byTime := func(a, b data.Measurement) int { return cmp.Compare(a.StepTime, b.StepTime) }
	if slices.MaxFunc(ms, byTime).StepTime < data.UnitGap*slices.MinFunc(ms, byTime).StepTime { // as of nearly every table
		return ms, nil
	}
	kind := func(m data.Measurement) string { // what those compared have in common
		c := m.Config
		c.Workers, c.Nodes, c.Placement, c.LocalBatch, c.AccumSteps = 0, 0, nil, 0, 0
		return fmt.Sprint(c.Key(), m.Architecture)
	}
	_, alike := grouped.By(ms, kind)
	for _, m := range ms {
		others := alike[kind(m)]
		if inOtherUnit(m, others[:min(len(others), maxCompared)]) {
			outliers = append(outliers, fmt.Sprintf("%s: %s takes %.3g s, which is in another unit than others: left out", m.Source, m.Config, m.StepTime))
		} else {
			kept = append(kept, m)
		}
	}
	if minScreen*len(outliers) > len(ms) {
		return ms, nil
	}
	return kept, outliers
}

func inOtherUnit(m data.Measurement, others []data.Measurement) bool {
	var slower, harder, faster, easier int // of those with no fewer workers and nodes, and no more
	for _, o := range others {
		if o.Workers >= m.Workers && o.NodeCount() >= m.NodeCount() {
			harder++
			if m.StepTime > data.UnitGap*o.StepTime*math.Max(samples(m)/samples(o), 1) {
				slower++
			}
		}
		if o.Workers <= m.Workers && o.NodeCount() <= m.NodeCount() {
			easier++
			if o.StepTime > data.UnitGap*m.StepTime*math.Max(samples(o)/samples(m), 1) {
				faster++
			}
		}
	}
	most := func(n, of int) bool { return n >= 2 && 5*n >= 4*(of-1) } // not itself
	return most(slower, harder) || most(faster, easier)
}

// samples are those of a worker and step; without a batch, its share of a fixed one.
func samples(m data.Measurement) float64 {
	if m.LocalBatch > 0 {
		return m.LocalBatch * float64(m.AccumSteps+1)
	}
	return 1 / float64(m.Workers)
}
