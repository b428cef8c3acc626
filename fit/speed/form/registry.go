package form

import (
	"maps"
	"slices"

	"knee/data"
)

// Families of knee, with learned priors.
const (
	CollectiveFamily = "collective"
	ServerFamily     = "ps"
	LayoutFamily     = "layout"
)

// Family is an entry of the registry.
type Family struct {
	Modes []data.Mode
	// Learned families have learned priors and a Gaussian process on the
	// residual. Others are published models under weak priors, for comparison.
	Learned bool
	// New makes the form for one mode; crowded: workers share a node's processors.
	New func(mode data.Mode, pts []Point, s Scale, crowded bool) Form
}

// Families returns the registry. A new family needs a file and a line here.
func Families() map[string]Family {
	all, sync := data.Modes(), []data.Mode{data.AllReduce, data.PSSync}
	reduce, async := []data.Mode{data.AllReduce}, []data.Mode{data.PSAsync}
	linear := func(modes []data.Mode, l linearFamily) Family {
		return Family{Modes: modes, New: func(_ data.Mode, pts []Point, s Scale, _ bool) Form { return l.form(pts, s) }}
	}
	scaled := func(modes []data.Mode, make func(s Scale) Form) Family {
		return Family{Modes: modes, New: func(_ data.Mode, _ []Point, s Scale, _ bool) Form { return make(s) }}
	}
	scalability := func(coherency bool) Family {
		return Family{Modes: all, New: func(mode data.Mode, _ []Point, s Scale, _ bool) Form { return usl(mode, s, coherency) }}
	}
	return map[string]Family{
		CollectiveFamily: {reduce, true, newCollective},
		ServerFamily:     {[]data.Mode{data.PSSync, data.PSAsync}, true, newServer},
		LayoutFamily:     {reduce, true, newLayout},
		"pollux":         scaled(reduce, pollux),
		"optimus-sync":   linear(sync, optimusSync),
		"optimus-async":  linear(async, optimusAsync),
		"ernest": {Modes: all, New: func(mode data.Mode, pts []Point, s Scale, _ bool) Form {
			if mode == data.PSAsync {
				return ernestAsync.form(pts, s)
			}
			return ernest.form(pts, s)
		}},
		"usl":    scalability(true),
		"amdahl": scalability(false),
		"power":  scaled(sync, func(s Scale) Form { return power(s, false) }),
		"linear": scaled(sync, func(s Scale) Form { return power(s, true) }),
	}
}

// FamilyNames returns the registered families, sorted.
func FamilyNames() []string { return slices.Sorted(maps.Keys(Families())) }

// FamiliesOf returns the families that support a mode, sorted.
func FamiliesOf(mode data.Mode) []string {
	var names []string
	for name, f := range Families() {
		if slices.Contains(f.Modes, mode) {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names
}
