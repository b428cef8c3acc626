package speed

import (
	"fmt"
	"strings"

	"knee/data"
	"knee/fit/speed/form"
)

// Change is one "what if" on the physics of a form: a parameter that is
// multiplied by a factor, or one of the switches of the form, such as perfect
// overlap, for which the factor says nothing.
type Change struct {
	Parameter string
	Factor    float64
}

// WhatIf returns the model of the same job under changes: every posterior
// draw is changed alike, and what the process says of the residual stays. It
// fails with a *data.InputError naming what can be changed.
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

// Speedup returns by what factor a step of a configuration is faster under
// changed than under m, both of which must have the same draws: changed comes
// from [Model.WhatIf].
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
	return quantiles(before.ln[:]), nil
}

// Only returns the model of one GPU type and mode, which can be changed where
// the forms of others cannot.
func (m *Model) Only(gpuType string, mode data.Mode) *Model {
	out := *m
	out.groups = nil
	if g, _ := m.find(gpuType, mode); g != nil {
		out.groups = append(out.groups, g)
	}
	return &out
}
