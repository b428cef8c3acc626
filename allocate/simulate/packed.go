package simulate

import (
	"knee/allocate"
	"knee/allocate/place"
	"knee/data"
)

// Pairs say how fast jobs were measured to be beside each other on the same
// GPUs, relative to alone.
type Pairs map[pairKey]float64

type pairKey struct{ application, beside, gpuType string }

// LoadPairs reads a CSV with a row for each application of a pair: application,
// beside (the other), gpu_type, step_time_s beside the other and
// alone_step_time_s.
func LoadPairs(path string) (Pairs, error) {
	f, err := data.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	p := Pairs{}
	err = data.EachRow(f, path, []string{"application", "beside", "gpu_type", "step_time_s", "alone_step_time_s"}, func(row *data.Row) error {
		k := pairKey{row.Text("application"), row.Text("beside"), row.Text("gpu_type")}
		if _, twice := p[k]; twice {
			row.Bad("beside", "each pair once on a GPU type")
		}
		seconds := data.Positive("seconds")
		p[k] = row.Required("alone_step_time_s", seconds) / row.Required("step_time_s", seconds)
		return nil
	})
	return p, err
}

// Packer is a policy that may let two jobs run on the GPUs of one.
type Packer interface {
	// Beside tells it, before all else, how to ask for the speed of a job beside
	// another on a GPU type, relative to alone; 0 if nobody knows.
	Beside(share func(job, beside, gpuType string) float64)
	// Guests are the jobs that the last answer gives no GPUs of their own, by
	// place in the state: who else's they run on, and which of their options that
	// is.
	Guests() map[int][2]int
}

// packs tells a policy that packs what was measured, if anything was.
func (r *replay) packs() {
	p, ok := r.Policy.(Packer)
	if !ok || r.Packed == nil {
		return
	}
	r.constant = false // speeds vary with who is beside
	applications := map[string]string{}
	for _, j := range r.jobs {
		applications[j.Name] = j.Application
	}
	p.Beside(func(job, beside, gpuType string) float64 {
		return r.Packed[pairKey{applications[job], applications[beside], gpuType}]
	})
}

// guests are those of the last answer.
func (r *replay) guests() map[int][2]int {
	if p, ok := r.Policy.(Packer); ok && r.Packed != nil {
		return p.Guests()
	}
	return nil
}

// leave stops the guests that are none any more.
func (r *replay) leave(guests map[int][2]int) {
	for i, j := range r.active {
		if _, stays := guests[i]; j.guest && !stays {
			j.stop()
		}
	}
}

// lodge puts guests beside those whose GPUs they run on.
func (r *replay) lodge(s allocate.State, guests map[int][2]int) error {
	for i, j := range r.active {
		g, isGuest := guests[i]
		if !isGuest {
			continue
		}
		host := r.active[g[0]]
		if host.nodes == nil { // it could not be placed
			j.stop()
			continue
		}
		if err := r.apply(j, place.Placed{Choice: g[1], Option: s.Jobs[i].Options[g[1]], Nodes: host.nodes}); err != nil {
			return err
		}
		j.guest, j.beside, host.beside = true, host, j
	}
	return nil
}

// part ends what a job shares with another, which has the GPUs for itself from
// then on. It reports whether there was one.
func (j *running) part() bool {
	other := j.beside
	if other == nil {
		return false
	}
	j.beside, other.beside, j.guest, other.guest = nil, nil, false, false
	return true
}
