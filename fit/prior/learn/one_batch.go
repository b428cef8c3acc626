package main

import (
	"maps"
	"slices"

	"knee/data"
	"knee/internal/grouped"
)

// oneBatch predicts other local batches from the rows of one, and from the first of
// these rows alone, where both were measured on the same workers.
func oneBatch(jobs []*job) []split {
	type of struct{ dataset, model, gpu string }
	at := map[of]*job{}
	var found []*job
	for _, j := range jobs {
		for _, r := range j.rows {
			if r.LocalBatch <= 0 || r.AccumSteps > 0 && !layouts(j) || len(r.Extra) > 0 {
				continue
			}
			o := of{j.dataset, j.model(), r.GPUType}
			if at[o] == nil {
				at[o] = &job{dataset: o.dataset, name: o.model}
				found = append(found, at[o])
			}
			r.Job = o.model
			at[o].rows = append(at[o].rows, r)
		}
	}
	type place struct {
		workers, nodes int
		layout         data.Layout
	}
	placeOf := func(r data.Measurement) place { return place{r.Workers, r.NodeCount(), r.Layout} }
	var all []split
	for _, j := range found {
		_, batches := grouped.By(j.rows, func(r data.Measurement) float64 { return r.LocalBatch })
		if len(batches) == 1 {
			continue
		}
		for _, b := range slices.Sorted(maps.Keys(batches)) {
			known := batches[b]
			for _, n := range []int{1, len(known)} {
				s := split{job: j, protocol: "one row"}
				if n > 1 {
					s.protocol = "one batch"
				}
				s.train = known[:n]
				measured := map[place]bool{}
				for _, r := range s.train {
					measured[placeOf(r)] = true
				}
				for _, r := range j.rows {
					if r.LocalBatch != b && measured[placeOf(r)] {
						s.test = append(s.test, r)
					}
				}
				if len(s.test) > 0 {
					all = append(all, s)
				}
			}
		}
	}
	return all
}
