package fit

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"knee/data"
)

// StepTimer is a speed family with its parameters filled in: the seconds one
// optimizer step takes in a configuration. In [data.PSAsync] a step is one
// update of the whole job.
type StepTimer interface{ StepTime(data.Config) float64 }

// Param is one parameter of a fitted family.
type Param struct {
	Name  string
	Unit  string // "s", "s/sample", "" for a pure number, …
	Value data.Estimate
}

// curve is a StepTimer on prepared points, which is what fits and draws use.
type curve interface {
	StepTimer
	// logTimes returns the natural logarithms of the step time and of the
	// compute time of one micro-step, both in seconds.
	logTimes(p *point) (step, compute float64)
	// params returns the parameters in a fixed order, Value.Mean set.
	params() []Param
}

// form is a family made to measure for one set of points: it knows their
// typical time and batch, from which it scales its priors.
type form interface {
	name() string
	// bind fills in parameters; theta is in the coordinates of the solver.
	bind(theta []float64) curve
	// prior is the normal prior of theta.
	prior() prior
	// starts returns where the solver starts from, the prior mean first.
	starts() [][]float64
	// kernel describes what the form leaves over.
	kernel() kernel
}

// linearForm is a form whose step time is linear in non-negative
// coefficients, so that it is solved exactly instead of from several starts.
type linearForm interface {
	form
	// features returns the terms the coefficients multiply, all ≥ 0.
	features(p *point) []float64
}

// prior is a normal prior, independent per parameter.
type prior struct {
	mean []float64
	sd   []float64 // for the estimate
	wide []float64 // for intervals; nil means sd
}

func (p prior) widths() []float64 {
	if p.wide != nil {
		return p.wide
	}
	return p.sd
}

// family is an entry of the registry.
type family struct {
	modes []data.Mode
	make  func(mode data.Mode, pts []point, s scale) form
}

// families is the registry. A new family is a file of its own and one line here.
func families() map[string]family {
	all := data.Modes()
	return map[string]family{
		"collective": {[]data.Mode{data.AllReduce}, newCollectiveForm},
		typed: {[]data.Mode{data.AllReduce}, func(m data.Mode, pts []point, s scale) form {
			return &typedForm{collectiveForm: collectiveForm{s}}
		}},
		"ps":            {[]data.Mode{data.PSSync, data.PSAsync}, newServerForm},
		"pollux":        {[]data.Mode{data.AllReduce}, newPolluxForm},
		"optimus-sync":  {[]data.Mode{data.PSSync, data.AllReduce}, newOptimusSyncForm},
		"optimus-async": {[]data.Mode{data.PSAsync}, newOptimusAsyncForm},
		"ernest":        {all, newErnestForm},
		"usl":           {all, newUSLForm},
		"amdahl":        {all, newAmdahlForm},
	}
}

// FamilyNames returns the registered families, sorted.
func FamilyNames() []string { return slices.Sorted(maps.Keys(families())) }

// familyFor returns the name of the family to use for a mode.
func familyFor(setting string, mode data.Mode) (string, error) {
	if setting == "" || setting == Auto {
		if mode.UsesPS() {
			return "ps", nil
		}
		return "collective", nil
	}
	f, ok := families()[setting]
	if !ok {
		return "", &data.InputError{
			Source: data.Source{Column: "family"}, Found: fmt.Sprintf("%q", setting),
			Want: "auto or one of " + strings.Join(FamilyNames(), ", "),
		}
	}
	if !slices.Contains(f.modes, mode) {
		return "", &data.InputError{
			Source: data.Source{Column: "family"}, Found: fmt.Sprintf("%q for measurements in mode %s", setting, mode),
			Want: "auto or one of " + strings.Join(familiesOf(mode), ", "),
		}
	}
	return setting, nil
}

// familiesOf returns the families that describe a mode, sorted.
func familiesOf(mode data.Mode) []string {
	var names []string
	for name, f := range families() {
		if slices.Contains(f.modes, mode) {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names
}
