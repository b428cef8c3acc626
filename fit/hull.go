package fit

import (
	"math"
	"strconv"
	"strings"

	"knee/data"
)

// hull is the measured range of one GPU type and mode, a box.
type hull struct {
	Workers [2]float64 `json:"workers"`
	Nodes   [2]float64 `json:"nodes"`
	Widest  [2]float64 `json:"widest_node"`
	PS      [2]float64 `json:"ps"`
	Local   [2]float64 `json:"local_batch"`  // 0, 0 if never known
	Global  [2]float64 `json:"global_batch"` // samples per step
	Accum   int        `json:"accum_steps"`  // largest
	// Placed says that nodes were recorded, so that their number and width
	// mean something.
	Placed bool `json:"placed"`
	// FixedGlobal says that the global batch was held constant, so that the
	// local batch follows from the workers.
	FixedGlobal bool `json:"fixed_global"`
}

func hullOf(ms []data.Measurement, s scale) hull {
	h := hull{FixedGlobal: s.fixed}
	grow := func(r *[2]float64, v float64) {
		if r[0] == 0 && r[1] == 0 {
			*r = [2]float64{v, v}
		}
		r[0], r[1] = math.Min(r[0], v), math.Max(r[1], v)
	}
	for _, m := range ms {
		grow(&h.Workers, float64(m.Workers))
		grow(&h.Nodes, float64(m.NodeCount()))
		grow(&h.Widest, float64(m.WidestNode()))
		grow(&h.PS, float64(max(m.PS, 1)))
		if m.LocalBatch > 0 {
			grow(&h.Local, m.LocalBatch)
			grow(&h.Global, m.SamplesPerStep())
		}
		h.Accum = max(h.Accum, m.AccumSteps)
		h.Placed = h.Placed || len(m.Placement) > 0 || m.Nodes > 0
	}
	return h
}

// place fills in the nodes of a configuration that does not say: workers
// fill nodes as wide as the widest measured.
func (h *hull) place(c data.Config) data.Config {
	if h.Placed && len(c.Placement) == 0 && c.Nodes == 0 {
		wide := max(int(h.Widest[1]), 1)
		c.Nodes = (c.Workers + wide - 1) / wide
	}
	return c
}

// side is one dimension of the box, with the value of a configuration.
type side struct {
	name  string
	value float64
	span  [2]float64
}

// sides returns the dimensions that mean something for a configuration.
func (h *hull) sides(c data.Config, mode data.Mode) []side {
	s := []side{{"workers", float64(c.Workers), h.Workers}}
	if h.Placed {
		s = append(s, side{"nodes", float64(c.NodeCount()), h.Nodes},
			side{"workers on one node", float64(c.WidestNode()), h.Widest})
	}
	if mode.UsesPS() {
		s = append(s, side{"ps", float64(max(c.PS, 1)), h.PS})
	}
	switch {
	case c.LocalBatch <= 0 || h.Local[1] == 0:
	case h.FixedGlobal:
		s = append(s, side{"global batch", c.SamplesPerStep(), h.Global})
	default:
		s = append(s, side{"local batch", c.LocalBatch, h.Local})
	}
	return s
}

// doublings returns by how many doublings the value is outside, 0 inside.
func (s side) doublings() float64 {
	const slack = .02 // a batch rounded to whole samples is not news
	d := math.Max(math.Log2(s.span[0]/s.value), math.Log2(s.value/s.span[1]))
	if !(d > slack) || math.IsInf(d, 0) {
		return 0
	}
	return d
}

// outside says in which respects a configuration is outside, "" if in none.
func (h *hull) outside(c data.Config, mode data.Mode) string {
	var why []string
	for _, s := range h.sides(c, mode) {
		if s.doublings() > 0 {
			why = append(why, s.name+" "+amount(s.value)+", measured "+span(s.span))
		}
	}
	if c.LocalBatch > 0 && h.Local[1] == 0 {
		why = append(why, "local batch "+amount(c.LocalBatch)+", measured without a known batch")
	}
	return strings.Join(why, "; ")
}

// beyond returns how far outside a configuration is, in doublings of its
// farthest dimension.
func (h *hull) beyond(c data.Config, mode data.Mode) float64 {
	var far float64
	for _, s := range h.sides(c, mode) {
		far = math.Max(far, s.doublings())
	}
	return far
}

// span writes a range for people.
func span(r [2]float64) string {
	if r[0] == r[1] {
		return amount(r[0])
	}
	return amount(r[0]) + " to " + amount(r[1])
}

// amount writes a count, or the mean of counts, for people: never as 1.6e+04.
func amount(v float64) string {
	if v == math.Round(v) || v >= 1e4 {
		return strconv.FormatFloat(v, 'f', 0, 64)
	}
	return strconv.FormatFloat(v, 'g', 4, 64)
}
