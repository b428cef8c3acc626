package main

import (
	"context"
	"fmt"
	"io"
	"math"
	"slices"
	"strings"

	"knee/data"
	"knee/fit"
	"knee/internal/term"
	"knee/predict"
)

// fitResult is the JSON that fit prints.
type fitResult struct {
	Job        string      `json:"job"`
	Parameters []parameter `json:"parameters"`
	Families   []family    `json:"families"`
	Advice     []advice    `json:"advice,omitempty"`
	Warnings   []string    `json:"warnings"`
}

// family holds the errors of one family on held-out measurements, nil where too
// few can be held out.
type family struct {
	GPUType     string    `json:"gpu_type"`
	Mode        data.Mode `json:"mode"`
	Family      string    `json:"family"`
	LeaveOneOut *float64  `json:"leave_one_out"` // percent
	Forward     *float64  `json:"forward"`       // percent
	Used        bool      `json:"used"`
	Warnings    []string  `json:"warnings,omitempty"`
}

// advice is a recommended measurement and what it would gain.
type advice struct {
	Config    data.Config `json:"config"`
	Narrowing float64     `json:"narrowing"` // share by which the intervals of ln step time shrink, all added up
	Target    data.Config `json:"target"`    // whose interval narrows most
	Before    float64     `json:"half_width_before"`
	After     float64     `json:"half_width_after"`
	Words     string      `json:"words"`
}

func newFitResult(ctx context.Context, m *fit.Model) (fitResult, error) {
	scores, err := m.Compare(ctx)
	res := fitResult{Job: m.Job(), Parameters: parametersOf(m), Warnings: append([]string{}, m.Warnings()...)}
	for _, s := range scores {
		res.Families = append(res.Families, family{s.GPUType, s.Mode, s.Family, known(s.LeaveOneOut), known(s.Forward), s.Chosen, s.Warnings})
	}
	return res, err
}

// known returns nil for NaN and infinity, which JSON cannot hold.
func known(v float64) *float64 {
	if math.IsNaN(v) || math.IsInf(v, 0) {
		return nil
	}
	return &v
}

// advise adds the recommended next measurements.
func (r *fitResult) advise(m *fit.Model) error {
	if slices.ContainsFunc(m.GPUTypes(), func(gpu string) bool { return m.Layouts(gpu) != nil }) {
		return nil // knee predict --best says which layouts are worth a look
	}
	gains, err := predict.Gains(m)
	for _, g := range gains {
		r.Advice = append(r.Advice, advice{g.Config, g.Narrowing, g.Target, g.Before, g.After, g.String()})
	}
	return err
}

// print writes the result; as text, one table after the other.
func (r fitResult) print(w io.Writer, out format) error {
	if err := out.print(w, r, parameterTable(r.Parameters)); err != nil || out == "json" || out == "csv" {
		return err
	}
	fmt.Fprintln(w)
	if err := out.print(w, nil, r.familyTable()); err != nil {
		return err
	}
	for i, a := range r.Advice {
		if i == 0 {
			fmt.Fprintln(w, "\nWhat one more measurement would buy, most per worker first:")
		}
		if _, err := fmt.Fprintln(w, term.Hanging(w, "- "+a.Words)); err != nil {
			return err
		}
	}
	return nil
}

func (r fitResult) familyTable() table {
	t := table{columns: []string{"gpu_type", "mode", "family", "leave_one_out", "forward", "used"}}
	percentage := func(v *float64) string {
		if v == nil {
			return "–"
		}
		if *v > 1000 {
			return "> 1000 %"
		}
		return fmt.Sprintf("%.1f %%", *v)
	}
	warned := slices.ContainsFunc(r.Families, func(f family) bool { return len(f.Warnings) > 0 })
	if warned {
		t.columns = append(t.columns, "warning")
	}
	for _, f := range r.Families {
		used := ""
		if f.Used {
			used = "yes"
		}
		cells := []string{f.GPUType, string(f.Mode), f.Family, percentage(f.LeaveOneOut), percentage(f.Forward), used}
		if warned {
			cells = append(cells, strings.Join(f.Warnings, "; "))
		}
		t.add(cells...)
	}
	return t
}

type parameter struct {
	GPUType   string        `json:"gpu_type"`
	Mode      data.Mode     `json:"mode"`
	Family    string        `json:"family"`
	Parameter string        `json:"parameter"`
	Value     data.Estimate `json:"value"`
	Unit      string        `json:"unit"`
}

func parametersOf(m *fit.Model) []parameter {
	var ps []parameter
	for _, gpu := range m.GPUTypes() {
		for _, mode := range m.Modes(gpu) {
			family, params := m.Parameters(gpu, mode)
			for _, p := range params {
				ps = append(ps, parameter{gpu, mode, family, p.Name, p.Value, p.Unit})
			}
		}
	}
	if n := m.NoiseScale(); n != nil {
		ps = append(ps, parameter{Family: "gradient-noise", Parameter: "noise_scale", Value: n.Phi, Unit: "samples"})
	}
	return ps
}

func parameterTable(ps []parameter) table {
	t := table{columns: []string{"gpu_type", "mode", "family", "parameter", "value", "lo", "hi", "unit"}}
	t.people = &table{columns: []string{"parameter", "value", "lo", "hi", "unit"}}
	for _, p := range ps {
		head := p.Family
		if p.GPUType != "" {
			head = fmt.Sprintf("%s, %s: %s", p.GPUType, p.Mode, p.Family)
		}
		t.people.addUnder(head, p.Parameter, number(p.Value.Mean), number(p.Value.Lo), number(p.Value.Hi), p.Unit)
		t.add(p.GPUType, string(p.Mode), p.Family, p.Parameter, exact(p.Value.Mean), exact(p.Value.Lo), exact(p.Value.Hi), p.Unit)
	}
	return t
}
