package speed

import (
	"maps"
	"math"
	"slices"
	"strconv"

	"knee/data"
	"knee/fit/speed/form"
)

// knob is one of the study's own knobs, a part of the layout, or the size of
// the model if several were measured.
type knob struct {
	name   string
	kind   knobKind
	values []string // measured, in order of appearance; "" if a row lacks it
	usual  string   // most frequent value, the default of configurations
	// A knob of numbers has one coordinate: the logarithm if all are positive,
	// else the number in units of its standard deviation. Others have a
	// coordinate per value.
	numeric, log bool
	center, unit float64
	first        int // its first coordinate
	lo, hi       float64
}

// knobKind is the source of a knob's value.
type knobKind int

const (
	ownKnob knobKind = iota // in [data.Config.Extra]
	layoutKnob
	sizeKnob
)

// label is the name of the knob in messages and slopes.
func (k *knob) label() string {
	if k.kind == ownKnob {
		return "x_" + k.name
	}
	return k.name
}

// of returns the value of the knob in a configuration; size is ln of the
// model's operations relative to a reference.
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

// knobsOf finds the knobs of rows; the scale of each also holds the values of
// held.
func knobsOf(rows []row, held []data.Measurement) []knob {
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
		beyond := map[string]bool{}
		for _, m := range held {
			beyond[k.of(m.Config, form.OffsetsOf(m.Architecture).Unit)] = true
		}
		k.measure(beyond)
		k.first = at
		at += k.size()
	}
	return ks
}

// sizeKnobs returns the columns of the network's size that take several values and
// thus are knobs, unless the form of layouts counts operations from them.
func sizeKnobs(ms []data.Measurement) []string {
	layouts, counted := false, true
	for _, m := range ms {
		layouts, counted = layouts || !m.Plain(), counted && m.Architecture.Known()
	}
	if layouts && counted {
		return nil
	}
	return data.VariedSizes(ms)
}

// measure sets how values become coordinates, those held out too.
func (k *knob) measure(held map[string]bool) {
	var xs []float64
	k.lo, k.hi, k.log = math.Inf(1), math.Inf(-1), true
	for _, v := range slices.AppendSeq(slices.Clone(k.values), maps.Keys(held)) {
		x, err := strconv.ParseFloat(v, 64)
		if err != nil || math.IsNaN(x) || math.IsInf(x, 0) {
			return
		}
		k.log = k.log && x > 0
		if len(xs) < len(k.values) {
			xs = append(xs, x)
			k.lo, k.hi = min(k.lo, x), max(k.hi, x)
		}
	}
	k.numeric, k.unit = true, 1
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

// coordinates appends the coordinates of a value; known is false for an
// unmeasured word or an invalid number.
func (k *knob) coordinates(x []float64, value string) (out []float64, known bool) {
	if k.numeric {
		v, err := strconv.ParseFloat(value, 64)
		if k.log && v == 0 && k.lo == 1 && k.hi == 1 {
			v = math.Exp(-1) // a switch that was always on
		}
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

// knobCoordinates returns the coordinates of a configuration's knobs, and the
// labels of those with an unknown value.
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

// Suffixes of slope names for curvature in the power law of a knob.
const (
	curvature  = "²"
	thirdOrder = "³"
)

// ofLinks ends the name of a slope of communication alone.
const ofLinks = " of communication"

// knobFeatures returns the slopes of the study's own knobs. A number measured
// at one value has a slope, so that predictions at other values are uncertain.
// One measured at several also has a curvature and a third order, since a
// partly constant time is no power law: with the share s of the part that
// grows, its second derivative is s(1−s) and its third s(1−s)(1−2s), with root
// mean squares over s of 1/√30 and 1/√210, the sds of the priors. A knob may
// also act on communication more or less than on the whole step: compression of
// gradients on nothing else, the number of layers on both alike.
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
			if k.varied() {
				fs = append(fs, form.Feature{Name: k.label() + ofLinks, Links: true, At: func(p *form.Point) float64 { return p.Knobs[at] }})
			}
		case k.varied():
			for i, v := range k.values {
				level := func(p *form.Point) float64 { return p.Knobs[at+i] }
				fs = append(fs, form.Feature{Name: k.label() + "=" + v, At: level}, form.Feature{Name: k.label() + "=" + v + ofLinks, Links: true, At: level})
			}
		}
	}
	return fs
}
