package speed

import (
	"fmt"
	"strings"

	"knee/data"
	"knee/fit/speed/form"
)

// Change is one change of a form's physics: a parameter multiplied by a factor,
// or a switch such as perfect overlap, for which the factor is ignored.
type Change struct {
	Parameter string
	Factor    float64
}

// WhatIf returns the model of the same job under changes: every posterior draw
// is changed alike, and the process on the residual stays. It fails with a
// *data.InputError that names the possible changes.
func (m *Model) WhatIf(changes []Change) (*Model, error) {
	out := *m
	out.groups = nil
	for _, g := range m.groups {
		changed, err := g.whatIf(changes)
		if err != nil {
			return nil, err
		}
		changed.members = nil
		for _, o := range g.members {
			if o.group, err = o.whatIf(changes); err != nil {
				return nil, err
			}
			changed.members = append(changed.members, o)
		}
		out.groups = append(out.groups, changed)
	}
	return &out, nil
}

func (g *group) whatIf(changes []Change) (*group, error) {
	changed, post := *g, *g.post
	changed.stops = nil // of the system as it is
	change := func(from form.Curve) (form.Curve, error) {
		for _, c := range changes {
			next, ok := form.Change(from, c.Parameter, c.Factor)
			if !ok {
				return nil, &data.InputError{Source: data.Source{Column: "what-if"}, Found: fmt.Sprintf("%q for family %s", c.Parameter, g.family),
					Want: "one of " + strings.Join(form.Changes(from), ", ")}
			}
			from = next
		}
		return from, nil
	}
	var err error
	if post.best, err = change(post.best); err != nil {
		return nil, err
	}
	post.curves = make([]form.Curve, len(g.post.curves))
	for d := range post.curves {
		if post.curves[d], err = change(g.post.curves[d]); err != nil {
			return nil, err
		}
	}
	changed.post = &post
	return &changed, nil
}

// Speedup returns the step time under m divided by that under changed, which
// must come from m by [Model.WhatIf]. It fails like [Model.Predict].
func (m *Model) Speedup(changed *Model, c data.Config) (data.Estimate, error) {
	a, err := m.ask(c)
	if err != nil {
		return data.Estimate{}, err
	}
	b, err := changed.ask(c)
	if err != nil {
		return data.Estimate{}, err
	}
	var before, after sampled
	before.sample(&a, &answering{})
	after.sample(&b, &answering{})
	for d := range before.ln {
		before.ln[d] -= after.ln[d]
	}
	e, _ := estimate(before.ln)
	return e, nil
}

// Only returns the model of one GPU type and mode, for a change that other
// forms lack.
func (m *Model) Only(gpuType string, mode data.Mode) *Model {
	out := *m
	out.groups = nil
	if g, _ := m.find(gpuType, mode); g != nil {
		out.groups = append(out.groups, g)
	}
	return &out
}
