package predict

import (
	"fmt"
	"maps"
	"math"
	"slices"

	"knee/data"
	"knee/internal/grouped"
)

// surroundings is what was measured of one GPU type and mode.
type surroundings struct {
	base    data.Config // job, GPU type, mode and the batch and ps measured most
	workers []int       // distinct, ascending
	servers int         // most
	widest  int         // workers on one node
	placed  bool        // nodes were recorded
	fixed   bool        // the global batch was held constant
	global  float64     // samples per step, if fixed
}

func surroundingsOf(rows []data.Measurement) surroundings {
	s := surroundings{base: data.Config{Job: rows[0].Job, GPUType: rows[0].GPUType, Mode: rows[0].Mode}}
	for _, r := range rows {
		s.widest, s.global = max(s.widest, r.WidestNode()), max(s.global, r.SamplesPerStep())
		s.placed = s.placed || len(r.Placement) > 0 || r.Nodes > 0
	}
	s.workers, _ = grouped.By(rows, func(m data.Measurement) int { return m.Workers })
	servers, ofServers := grouped.By(rows, func(m data.Measurement) int { return m.PS })
	batches, ofBatch := grouped.By(rows, func(m data.Measurement) float64 { return m.LocalBatch })
	// rounded: a global batch divided by the workers and multiplied again
	globals, _ := grouped.By(rows, func(m data.Measurement) float64 { return math.Round(m.SamplesPerStep()*1e6) / 1e6 })
	slices.Sort(s.workers)
	s.servers = slices.Max(servers)
	s.base.LocalBatch, s.base.PS = mostCommon(ofBatch), mostCommon(ofServers)
	s.fixed = s.global > 0 && len(globals) < len(batches)
	return s
}

// mostCommon returns the key of the largest group, the smallest of equals.
func mostCommon[K int | float64, V any](groups map[K][]V) (best K) {
	most := 0
	for k, of := range groups {
		if n := len(of); n > most || n == most && k < best {
			best, most = k, n
		}
	}
	return best
}

// at returns workers on evenly filled nodes; 0: as few as the widest measured allows.
func (s surroundings) at(workers, nodes int) data.Config {
	c := s.base
	c.Workers = workers
	if s.placed {
		if nodes == 0 {
			nodes = (workers + s.widest - 1) / s.widest
		}
		c.Placement = data.EvenPlacement(workers, nodes)
		c.Nodes = nodes
	}
	if s.fixed {
		c.LocalBatch = s.global / float64(workers)
	}
	return c
}

// targets returns the configurations whose predictions a measurement is to
// narrow: the scalability curve at the batch and number of ps measured most, in
// doublings up to twice the most workers measured, and at that number.
func (s surroundings) targets() []data.Config {
	var all []data.Config
	most := 2 * s.workers[len(s.workers)-1]
	sizes := doublings(most)
	sizes[most] = true
	for _, k := range slices.Sorted(maps.Keys(sizes)) {
		all = append(all, s.at(k, 0))
	}
	return all
}

// next lists the likely next measurements of a user, without those in rows.
func (s surroundings) next(rows []data.Measurement) []data.Config {
	top := s.workers[len(s.workers)-1]
	all := s.targets()
	all = append(all, s.at(top, 0))
	if s.placed {
		all = append(all, s.at(2, 2), s.at(2*s.widest, 2))
	}
	for _, k := range []int{1, top} {
		if s.fixed || s.base.LocalBatch <= 0 {
			break
		}
		for _, f := range []float64{.5, 2} {
			c := s.at(k, 0)
			c.LocalBatch = math.Max(math.Round(c.LocalBatch*f), 1)
			all = append(all, c)
		}
	}
	if s.base.Mode.UsesPS() {
		for _, ps := range []int{1, 2 * s.servers} {
			c := s.at(top, 0)
			c.PS = ps
			all = append(all, c)
		}
	}
	return unmeasuredShapes(all, rows)
}

// unmeasuredShapes drops repetitions and configurations already measured.
// Placements are compared by nodes and widest node, as in a fit.
func unmeasuredShapes(all []data.Config, rows []data.Measurement) []data.Config {
	of := func(c data.Config) string {
		return fmt.Sprint(c.Workers, c.NodeCount(), c.WidestNode(), c.PS, c.AccumSteps, c.LocalBatch)
	}
	seen := map[string]bool{}
	for _, r := range rows {
		seen[of(r.Config)] = true
	}
	return slices.DeleteFunc(all, func(c data.Config) bool {
		known := seen[of(c)]
		seen[of(c)] = true
		return known
	})
}
