package simulate

import (
	"cmp"
	"slices"

	"knee/allocate"
	"knee/allocate/place"
	"knee/data"
)

// move is what changes for one job.
type move struct {
	job *running
	to  place.Placed
}

// place places an assignment on nodes and returns the changes. If no option has a
// shape only the jobs that change are placed, so the time depends on the changes;
// with shapes all jobs may have to move together.
func (r *replay) place(s allocate.State, a allocate.Assignment) []move {
	var start []int
	var out []move
	for i, c := range a.Choice {
		j := r.active[i]
		if c < 0 {
			if j.nodes != nil && !j.guest {
				out = append(out, move{j, place.Placed{Choice: -1}})
			}
			continue
		}
		o := &s.Jobs[i].Options[c]
		switch {
		case len(o.Config.Placement) > 0:
			return r.placeAll(s, a)
		case !o.Keeps:
			start = append(start, i)
		case o.Config.LocalBatch != j.config.LocalBatch || o.Config.AccumSteps != j.config.AccumSteps:
			out = append(out, move{j, place.Placed{Choice: c, Option: *o, Nodes: j.nodes}})
		}
	}
	for _, m := range out {
		if m.to.Choice < 0 {
			r.placer.Release(m.job.nodes, data.Resources{})
		}
	}
	for _, i := range start {
		r.placer.Release(r.active[i].nodes, data.Resources{})
	}
	option := func(i int) *allocate.Option { return &s.Jobs[i].Options[a.Choice[i]] }
	slices.SortStableFunc(start, func(x, y int) int { return cmp.Compare(option(y).Use.GPUs, option(x).Use.GPUs) })
	for _, i := range start {
		j, to := r.active[i], place.Placed{Choice: a.Choice[i], Option: *option(i)}
		var ok bool
		to.Nodes, ok = r.placer.Place(place.Request{Config: to.Option.Config, Current: j.nodes})
		if !ok { // free cores or memory are on other nodes than free GPUs: it waits
			to = place.Placed{Choice: -1}
		}
		out = append(out, move{j, to})
	}
	return out
}

// placeAll places all jobs anew; those that keep their option stay.
func (r *replay) placeAll(s allocate.State, a allocate.Assignment) []move {
	standing := make([]place.Request, len(r.active))
	for i, j := range r.active {
		if !j.guest {
			standing[i].Current = j.nodes
		}
	}
	placed, placer := place.All(s, a, standing, nil)
	r.placer = placer
	out := make([]move, len(placed))
	for i, p := range placed {
		out[i] = move{r.active[i], p}
	}
	return out
}

// cluster is the cluster without nodes in an outage.
func (r *replay) cluster() *data.Cluster {
	if r.present != nil {
		return r.present
	}
	return r.Cluster
}
