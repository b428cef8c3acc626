package speed

import (
	"maps"
	"math"
	"slices"
	"strconv"

	"knee/data"
	"knee/fit/speed/form"
)

// knob is one of the study's own knobs as the model sees it, or a part of the
// layout, or the size of the model where several were measured.
type knob struct {
	name   string
	kind   knobKind
	values []string // measured, in order of appearance; "" where some rows lack it
	usual  string   // the value measured most: what a configuration without it is taken to have
	// A knob whose values are all numbers has one coordinate, their logarithm
	// if all are positive, else the number in units of its spread. Others have
	// a coordinate per value.
	numeric, log bool
	center, unit float64
	first        int // its first coordinate
	lo, hi       float64
}

// knobKind says where the value of a knob is.
type knobKind int

const (
	ownKnob knobKind = iota // in [data.Config.Extra]
	layoutKnob
	sizeKnob
)

// label is how the knob is written in messages, and in the names of slopes.
func (k *knob) label() string {
	if k.kind == ownKnob {
		return "x_" + k.name
	}
	return k.name
}

// of returns the value of the knob in a configuration of a model whose
// operations have the logarithm size, relative to a reference.
func (k *knob) of(c data.Config, size float64) string {
	switch k.kind {
	case layoutKnob:
		return c.Get(k.name)
	case sizeKnob:
		return strconv.FormatFloat(math.Exp(size), 'g', -1, 64)
	}
	return c.Extra[k.name]
}

// varied reports whether several values were measured.
func (k *knob) varied() bool { return len(k.values) > 1 }

func (k *knob) size() int {
	if k.numeric {
		return 1
	}
	return len(k.values)
}

// knobsOf finds the knobs of rows.
func knobsOf(rows []row) []knob {
	own := map[string]bool{}
	layouts, sized := false, true
	for _, r := range rows {
		for name := range r.Extra {
			own[name] = true
		}
		layouts, sized = layouts || !r.Plain(), sized && r.Architecture.Known()
	}
	var ks []knob
	for _, name := range slices.Sorted(maps.Keys(own)) {
		ks = append(ks, knob{name: name})
	}
	if layouts {
		for _, name := range data.LayoutNames() {
			ks = append(ks, knob{name: name, kind: layoutKnob})
		}
		if sized {
			ks = append(ks, knob{name: "model_size", kind: sizeKnob})
		}
	}
	at := 0
	for i := range ks {
		k := &ks[i]
		count := map[string]int{}
		for _, r := range rows {
			v := k.of(r.Config, form.OffsetsOf(r.Architecture).Unit)
			if count[v]++; count[v] == 1 {
				k.values = append(k.values, v)
			}
		}
		for _, v := range k.values {
			if k.usual == "" || count[v] > count[k.usual] {
				k.usual = v
			}
		}
		k.measure()
		k.first = at
		at += k.size()
	}
	return ks
}

// measure decides how the knob's values are turned into coordinates.
func (k *knob) measure() {
	var xs []float64
	k.lo, k.hi = math.Inf(1), math.Inf(-1)
	for _, v := range k.values {
		x, err := strconv.ParseFloat(v, 64)
		if err != nil || math.IsNaN(x) || math.IsInf(x, 0) {
			return
		}
		xs = append(xs, x)
		k.lo, k.hi = min(k.lo, x), max(k.hi, x)
	}
	k.numeric, k.log, k.unit = true, k.lo > 0, 1
	for i := range xs {
		if k.log {
			xs[i] = math.Log(xs[i])
		}
		k.center += xs[i] / float64(len(xs))
	}
	if !k.log {
		var square float64
		for _, x := range xs {
			square += sq(x-k.center) / float64(len(xs))
		}
		if square > 0 {
			k.unit = math.Sqrt(square)
		} else if k.center != 0 {
			k.unit = math.Abs(k.center)
		}
	}
}

// coordinates appends those of a value; known is false for a word that was
// never measured, which has none.
func (k *knob) coordinates(x []float64, value string) (out []float64, known bool) {
	if k.numeric {
		v, err := strconv.ParseFloat(value, 64)
		if err != nil || k.log && !(v > 0) || math.IsInf(v, 0) || math.IsNaN(v) {
			return append(x, 0), false
		}
		if k.log {
			v = math.Log(v)
		}
		return append(x, (v-k.center)/k.unit), true
	}
	for _, v := range k.values {
		on := 0.
		if v == value {
			on, known = 1, true
		}
		x = append(x, on)
	}
	return x, known
}

// knobCoordinates returns the coordinates of a configuration's knobs and the
// names of those whose value was never measured and has none.
func knobCoordinates(ks []knob, c data.Config, size float64) (x []float64, unknown []string) {
	for i := range ks {
		v := ks[i].of(c, size)
		if v == "" && !slices.Contains(ks[i].values, "") {
			v = ks[i].usual
		}
		var known bool
		if x, known = ks[i].coordinates(x, v); !known {
			unknown = append(unknown, ks[i].label())
		}
	}
	return x, unknown
}

// Ends of the names of coordinates that bend the power law of a knob.
const (
	curvature  = "²"
	thirdOrder = "³"
)

// knobFeatures returns the slopes that belong to the study's own knobs. A number
// that took one value has one, so that a prediction at another is as uncertain as
// it should be. One that took several has a curvature and a third order as well,
// since time that is partly constant is no power law: with the share s of the part
// that grows, its second derivative is s(1−s) and its third s(1−s)(1−2s), whose
// root mean squares over all s are 1/√30 and 1/√210, the sds of the priors.
func knobFeatures(ks []knob) []form.Feature {
	var fs []form.Feature
	for _, k := range ks {
		at := k.first
		switch {
		case k.kind != ownKnob:
		case k.numeric:
			fs = append(fs, form.Feature{Name: k.label(), At: func(p *form.Point) float64 { return p.Knobs[at] }})
			if k.log && k.varied() {
				fs = append(fs, form.Feature{Name: k.label() + curvature, At: func(p *form.Point) float64 { return sq(p.Knobs[at]) / 2 }},
					form.Feature{Name: k.label() + thirdOrder, At: func(p *form.Point) float64 { return sq(p.Knobs[at]) * p.Knobs[at] / 6 }})
			}
		case k.varied():
			for i, v := range k.values {
				fs = append(fs, form.Feature{Name: k.label() + "=" + v, At: func(p *form.Point) float64 { return p.Knobs[at+i] }})
			}
		}
	}
	return fs
}
