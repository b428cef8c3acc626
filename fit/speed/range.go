package speed

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"knee/data"
	"knee/fit/speed/form"
)

// measuredRange is the measured range of one GPU type and mode, a box; numbers
// and words are those of the knobs, by label.
type measuredRange struct {
	Workers, Nodes, Widest, PS [2]float64
	Local, Global              [2]float64 // 0, 0 if never known
	Accum                      [2]float64 // micro-steps
	Placed                     bool       // the number of nodes was recorded
	words                      map[string][]string
	numbers                    map[string][2]float64
	layouts                    bool // some have a layout other than data parallelism
}

func grow(r *[2]float64, v float64) {
	if r[0] == 0 && r[1] == 0 {
		*r = [2]float64{v, v}
	}
	r[0], r[1] = math.Min(r[0], v), math.Max(r[1], v)
}

// rangeOf returns the range of the rows of a GPU type.
func rangeOf(rows []row, gpuType string, knobs []knob) measuredRange {
	h := measuredRange{words: map[string][]string{}, numbers: map[string][2]float64{}}
	for i := range rows {
		r := &rows[i]
		if r.GPUType != gpuType || r.inflated > 0 {
			continue
		}
		grow(&h.Workers, float64(r.Workers))
		grow(&h.PS, float64(max(r.PS, 1)))
		grow(&h.Accum, float64(r.AccumSteps+1))
		if known := len(r.Placement) > 0 || r.Nodes > 0; known {
			h.Placed = true
			grow(&h.Nodes, float64(r.NodeCount()))
			grow(&h.Widest, float64(r.WidestNode()))
		}
		if r.LocalBatch > 0 {
			grow(&h.Local, r.LocalBatch)
			grow(&h.Global, r.SamplesPerStep())
		}
		h.layouts = h.layouts || !r.Plain()
		for _, name := range data.ArchitectureNames() {
			if v, err := strconv.ParseFloat(r.Architecture.Column(name), 64); err == nil {
				h.number(name, v)
			}
		}
		for k := range knobs {
			h.knob(&knobs[k], knobs[k].of(r.Config, form.OffsetsOf(r.Architecture).Unit))
		}
	}
	return h
}

func (h *measuredRange) knob(k *knob, value string) {
	if v, err := strconv.ParseFloat(value, 64); k.numeric && err == nil {
		h.number(k.label(), v)
	} else if !slices.Contains(h.words[k.label()], value) {
		h.words[k.label()] = append(h.words[k.label()], value)
	}
}

func (h *measuredRange) number(name string, v float64) {
	r, ok := h.numbers[name]
	if !ok {
		r = [2]float64{v, v}
	}
	h.numbers[name] = [2]float64{math.Min(r[0], v), math.Max(r[1], v)}
}

// place fills in unset nodes: workers fill nodes up to the widest measured.
func (h *measuredRange) place(c data.Config) data.Config {
	if h.Placed && len(c.Placement) == 0 && c.Nodes == 0 {
		wide := max(int(h.Widest[1]), 1)
		c.Nodes = (c.Workers + wide - 1) / wide
	}
	return c
}

// outside returns the quantities of a configuration outside the range, "" if
// there are none.
func (h *measuredRange) outside(c data.Config, fixedGlobal bool) string {
	var why []string
	check := func(name string, v float64, r [2]float64) {
		const slack = 1.014 // a batch rounded to whole samples is inside
		if v*slack < r[0] || v > r[1]*slack {
			why = append(why, name+" "+amount(v)+", measured "+span(r))
		}
	}
	check("workers", float64(c.Workers), h.Workers)
	if h.Placed {
		check("nodes", float64(c.NodeCount()), h.Nodes)
		check("workers on one node", float64(c.WidestNode()), h.Widest)
	} else if c.NodeCount() > 1 {
		why = append(why, fmt.Sprintf("nodes %d, measured without their number", c.NodeCount()))
	}
	if c.Mode.UsesPS() {
		check("ps", float64(max(c.PS, 1)), h.PS)
	}
	switch {
	case c.LocalBatch <= 0:
	case h.Local[1] == 0:
		why = append(why, "local batch "+amount(c.LocalBatch)+", measured without a known batch")
	case fixedGlobal:
		check("global batch", c.SamplesPerStep(), h.Global)
	default:
		check("local batch", c.LocalBatch, h.Local)
	}
	check("micro-steps", float64(c.AccumSteps+1), h.Accum)
	return strings.Join(append(why, h.outsideKnobs(c)...), "; ")
}

// outsideKnobs does the same for knobs and layout.
func (h *measuredRange) outsideKnobs(c data.Config) (why []string) {
	values := map[string]string{}
	for name, v := range c.Extra {
		values["x_"+name] = v
	}
	if h.layouts {
		for _, name := range data.LayoutNames() {
			values[name] = c.Get(name)
		}
		for _, name := range data.ArchitectureNames() {
			if _, measured := h.numbers[name]; measured && c.Architecture.Column(name) != "" {
				values[name] = c.Architecture.Column(name)
			}
		}
	}
	for _, name := range sortedKeys(values) {
		value := values[name]
		r, numeric := h.numbers[name]
		v, err := strconv.ParseFloat(value, 64)
		switch {
		case numeric && err == nil:
			if v < r[0] || v > r[1] {
				why = append(why, name+" "+value+", measured "+span(r))
			}
		case !slices.Contains(h.words[name], value):
			measured := slices.DeleteFunc(slices.Clone(h.words[name]), func(w string) bool { return w == "" })
			if len(measured) == 0 {
				measured = []string{"without it"}
			}
			why = append(why, name+" "+value+", measured "+strings.Join(measured, ", "))
		}
	}
	return why
}

// span formats a range.
func span(r [2]float64) string {
	if r[0] == r[1] {
		return amount(r[0])
	}
	return amount(r[0]) + " to " + amount(r[1])
}

// amount formats a count, or a mean of counts, without an exponent.
func amount(v float64) string {
	if v == math.Round(v) || v >= 1e4 {
		return strconv.FormatFloat(v, 'f', 0, 64)
	}
	return strconv.FormatFloat(v, 'g', 4, 64)
}
