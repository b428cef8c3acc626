package main

import (
	"maps"
	"slices"
	"strconv"

	"knee/data"
	"knee/internal/grouped"
)

// dimension is a part of a configuration that may have been measured at one value only.
type dimension struct {
	name  string
	value func(r data.Measurement) string
	place func(r data.Measurement) place // what stays as measured
}

// place is a part of a configuration.
type place struct {
	workers, nodes, servers int
	layout                  data.Layout
}

// dimensions are those of rows with layouts, or of other rows.
func dimensions(layouts bool) []dimension {
	batch := dimension{"batch",
		func(r data.Measurement) string { return strconv.FormatFloat(r.LocalBatch, 'g', -1, 64) },
		func(r data.Measurement) place {
			return place{r.Workers, r.NodeCount(), r.PS, r.Layout}
		}}
	workers := dimension{"worker count",
		func(r data.Measurement) string { return strconv.Itoa(r.Workers) },
		func(r data.Measurement) place { return place{servers: r.PS, layout: r.Layout} }}
	if !layouts {
		return []dimension{batch, workers, {"server count",
			func(r data.Measurement) string { return strconv.Itoa(r.PS) },
			func(r data.Measurement) place { return place{workers: r.Workers} }}}
	}
	all := []dimension{batch, workers}
	for _, name := range data.LayoutNames() {
		all = append(all, dimension{name, func(r data.Measurement) string { return r.Get(name) },
			func(r data.Measurement) place { return place{workers: r.Workers, nodes: r.NodeCount()} }})
	}
	return all
}

// oneValue predicts other values of a dimension from the rows of one value, at places
// that were measured; for the batch, also from the first of these rows alone.
func oneValue(jobs []*job) []split {
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
	var all []split
	for _, j := range found {
		for _, d := range dimensions(layouts(j)) {
			values, rows := grouped.By(j.rows, d.value)
			if len(values) == 1 {
				continue
			}
			for _, v := range slices.Sorted(maps.Keys(rows)) {
				if d.name == "batch" {
					all = append(all, j.elsewhere(d, rows[v][:1], "one row"))
				}
				if len(rows[v]) > 1 {
					all = append(all, j.elsewhere(d, rows[v], "one "+d.name))
				}
			}
		}
	}
	return slices.DeleteFunc(all, func(s split) bool { return len(s.test) == 0 })
}

// elsewhere returns the split that predicts the other values of a dimension.
func (j *job) elsewhere(d dimension, known []data.Measurement, protocol string) split {
	s := split{job: j, protocol: protocol, train: known}
	for _, r := range j.rows {
		if d.value(r) != d.value(known[0]) && slices.ContainsFunc(known, func(k data.Measurement) bool {
			return d.place(k) == d.place(r)
		}) {
			s.test = append(s.test, r)
		}
	}
	return s
}
