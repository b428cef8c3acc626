package data

import (
	"cmp"
	"fmt"
	"io"
	"maps"
	"strconv"
)

// Architecture is the size of a transformer. Zero means not known.
type Architecture struct {
	Parameters float64 `json:"model_parameters,omitempty" yaml:"parameters" is:"positive" of:"parameters"`
	Layers     int     `json:"layers,omitempty" yaml:"layers" min:"1"`
	Hidden     int     `json:"hidden,omitempty" yaml:"hidden" min:"1"`
	Heads      int     `json:"heads,omitempty" yaml:"heads" min:"1"`
	SeqLen     int     `json:"seq_len,omitempty" yaml:"seq_len" min:"1"` // tokens per sample
	Vocab      int     `json:"vocab,omitempty" yaml:"vocab" min:"1"`
	Experts    int     `json:"experts,omitempty" yaml:"experts" min:"1"`
}

// ArchitectureNames returns the names of the columns of an architecture, of
// which the first is a number, the others are counts.
func ArchitectureNames() []string {
	return []string{"model_parameters", "layers", "hidden", "heads", "seq_len", "vocab", "experts"}
}

func (a *Architecture) count(name string) *int {
	return map[string]*int{"layers": &a.Layers, "hidden": &a.Hidden, "heads": &a.Heads, "seq_len": &a.SeqLen, "vocab": &a.Vocab, "experts": &a.Experts}[name]
}

// architectureColumns are the columns of measurements.csv for the model that is
// trained.
func architectureColumns() (all []columnOf[Measurement]) {
	for _, name := range ArchitectureNames() {
		c := counts(name, 1, func(m *Measurement) *int { return m.Architecture.count(name) })
		if name == "model_parameters" {
			c = numbers(name, Positive("parameters"), func(m *Measurement) *float64 { return &m.Parameters })
		}
		all = append(all, c)
	}
	return all
}

// VariedSizes returns the columns of the network's size that take several values.
func VariedSizes(ms []Measurement) (names []string) {
	for _, name := range ArchitectureNames() {
		known := map[string]bool{}
		for _, m := range ms {
			if v := m.Column(name); v != "" {
				known[v] = true
			}
		}
		if len(known) > 1 {
			names = append(names, name)
		}
	}
	return names
}

// SizesAsKnobs gives measurements knobs with the values of columns of their network's
// size, so that rows that differ in them read differently.
func SizesAsKnobs(ms []Measurement, names []string) {
	for i := range ms {
		for _, name := range names {
			if v := ms[i].Column(name); v != "" {
				ms[i].Extra = maps.Clone(ms[i].Extra)
				if ms[i].Extra == nil {
					ms[i].Extra = map[string]string{}
				}
				ms[i].Extra[name] = v
			}
		}
	}
}

// Column returns the text of a column, empty if it is not known.
func (a Architecture) Column(name string) string {
	if n := a.count(name); n != nil {
		return formatCount(*n)
	}
	return formatFloat(a.Parameters)
}

// SetColumn sets a column. It changes nothing if text is no number.
func (a *Architecture) SetColumn(name, text string) {
	v, err := strconv.ParseFloat(text, 64)
	switch n := a.count(name); {
	case err != nil:
	case n != nil:
		*n = int(v)
	default:
		a.Parameters = v
	}
}

// Or returns the architecture with what is not known taken from another: the
// number of parameters only if nothing is known that it depends on.
func (a Architecture) Or(other Architecture) Architecture {
	if a.Layers > 0 || a.Hidden > 0 || a.Experts > 0 {
		other.Parameters = 0
	}
	if a.Parameters > 0 {
		other.Layers, other.Hidden, other.Heads, other.Experts = 0, 0, 0, 0
	}
	return Architecture{cmp.Or(a.Parameters, other.Parameters), cmp.Or(a.Layers, other.Layers), cmp.Or(a.Hidden, other.Hidden),
		cmp.Or(a.Heads, other.Heads), cmp.Or(a.SeqLen, other.SeqLen), cmp.Or(a.Vocab, other.Vocab), cmp.Or(a.Experts, other.Experts)}
}

// Known reports whether enough is known to count operations and bytes:
// layers, hidden size and length of a sample.
func (a Architecture) Known() bool { return a.Layers > 0 && a.Hidden > 0 && a.SeqLen > 0 }

// Zero reports whether nothing is known.
func (a Architecture) Zero() bool { return a == Architecture{} }

// Count returns the parameters: those given, else those of a transformer with
// feed-forward layers of four times the hidden size, 12·l·h² + 13·l·h + v·h
// (Narayanan et al., "Efficient large-scale language model training", SC'21,
// equation 2, without positions), of which 8·l·h² for each expert. An unknown
// vocabulary is left out.
func (a Architecture) Count() float64 {
	if a.Parameters > 0 {
		return a.Parameters
	}
	return a.outside() + 8*float64(a.Layers*a.Hidden*a.Hidden*max(a.Experts, 1))
}

// outside returns the parameters outside feed-forward layers.
func (a Architecture) outside() float64 {
	l, h := float64(a.Layers), float64(a.Hidden)
	return 4*l*h*h + 13*l*h + float64(a.Vocab)*h
}

// InExperts returns the share of the parameters that is in experts.
func (a Architecture) InExperts() float64 {
	if a.Experts <= 1 || a.Count() == 0 {
		return 0
	}
	return max(1-a.outside()/a.Count(), 0)
}

// FLOPs returns the floating-point operations of a forward and backward pass of
// one sample: 6 per parameter and token, and those of attention (the same,
// equation 3, with 3 instead of 4 passes: without recomputation). A token
// passes two experts of a layer (Lepikhin et al., "GShard", 2021).
func (a Architecture) FLOPs() float64 {
	s, l, h := float64(a.SeqLen), float64(a.Layers), float64(a.Hidden)
	idle := a.InExperts() * (1 - min(2/float64(max(a.Experts, 1)), 1))
	return 6*s*a.Count()*(1-idle) + 12*l*s*s*h
}

func (a *Architecture) validate(o *object) {
	if a.Heads > 0 && a.Hidden > 0 && a.Hidden%a.Heads != 0 {
		o.fail("heads", strconv.Itoa(a.Heads), "a divisor of hidden, "+strconv.Itoa(a.Hidden))
	}
	rest := *a
	rest.Parameters = 0
	least, most := rest.outside()/10, 10*rest.Count() // experts may be smaller than a dense layer
	if a.Parameters > 0 && a.Layers > 0 && a.Hidden > 0 && (a.Parameters < least || a.Parameters > most) {
		o.fail("parameters", fmt.Sprintf("%g", a.Parameters), fmt.Sprintf("a number such as 7e9: layers and hidden say about %.2g", rest.Count()))
	}
}

// ReadArchitecture reads the size of a model from a YAML file with the keys of
// a study's section model, or with that section. name is for errors.
func ReadArchitecture(r io.Reader, name string) (Architecture, error) {
	var file struct {
		Architecture
		Model Architecture `yaml:"model"`
	}
	y := &yamlReader{file: name}
	y.document(r, &file)
	a := file.Architecture
	if a.Zero() {
		a = file.Model
	}
	if a.Zero() {
		y.fail(1, "parameters", "nothing", "parameters, or layers, hidden and seq_len, of the model")
	}
	return a, y.err
}
