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
	// New makes the form for measurements of one mode; crowded says that
	// workers share the processors of their node.
	New func(mode data.Mode, pts []Point, s Scale, crowded bool) Form
}

// Families returns the registry. A new family needs a file and a line here.
func Families() map[string]Family {
	all, sync := data.Modes(), []data.Mode{data.AllReduce, data.PSSync}
	reduce, async := []data.Mode{data.AllReduce}, []data.Mode{data.PSAsync}
	published := func(modes []data.Mode, make func(mode data.Mode, pts []Point, s Scale) Form) Family {
		return Family{Modes: modes, New: func(mode data.Mode, pts []Point, s Scale, _ bool) Form { return make(mode, pts, s) }}
	}
	scalability := func(coherency bool) Family {
		return published(all, func(mode data.Mode, _ []Point, s Scale) Form { return &uslForm{s, coherency, mode == data.PSAsync} })
	}
	return map[string]Family{
		CollectiveFamily: {reduce, true, func(_ data.Mode, _ []Point, s Scale, crowded bool) Form { return &collectiveForm{s, crowded} }},
		ServerFamily: {[]data.Mode{data.PSSync, data.PSAsync}, true, func(mode data.Mode, _ []Point, s Scale, _ bool) Form {
			return &serverForm{s, mode == data.PSAsync}
		}},
		LayoutFamily:    {reduce, true, func(_ data.Mode, _ []Point, s Scale, _ bool) Form { return &layoutForm{s} }},
		"pollux":        published(reduce, func(_ data.Mode, _ []Point, s Scale) Form { return &polluxForm{s} }),
		"optimus-sync":  published(sync, func(_ data.Mode, pts []Point, s Scale) Form { return newLinear(&optimusSync, pts, s) }),
		"optimus-async": published(async, func(_ data.Mode, pts []Point, s Scale) Form { return newLinear(&optimusAsync, pts, s) }),
		"ernest": published(all, func(mode data.Mode, pts []Point, s Scale) Form {
			if mode == data.PSAsync {
				return newLinear(&ernestAsync, pts, s)
			}
			return newLinear(&ernest, pts, s)
		}),
		"usl":    scalability(true),
		"amdahl": scalability(false),
		"power":  published(sync, func(_ data.Mode, _ []Point, s Scale) Form { return &powerForm{s, false} }),
		"linear": published(sync, func(_ data.Mode, _ []Point, s Scale) Form { return &powerForm{s, true} }),
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
