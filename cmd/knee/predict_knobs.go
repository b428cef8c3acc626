package main

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"knee/data"
	"knee/fit"
	"knee/fit/speed"
	"knee/predict"
)

// knobFlag collects --knob NAME=VALUE,VALUE, which may be given several times.
type knobFlag map[string][]string

func (k knobFlag) String() string {
	var parts []string
	for _, name := range slices.Sorted(maps.Keys(k)) {
		parts = append(parts, name+"="+strings.Join(k[name], ","))
	}
	return strings.Join(parts, " ")
}

func (k knobFlag) Set(text string) error {
	name, values, ok := strings.Cut(text, "=")
	name = strings.TrimPrefix(strings.TrimSpace(name), "x_")
	if !ok || name == "" || values == "" {
		return fmt.Errorf("want NAME=VALUE,VALUE, such as width=96,128")
	}
	for v := range strings.SplitSeq(values, ",") {
		k[name] = append(k[name], strings.TrimSpace(v))
	}
	return nil
}

func (k knobFlag) Type() string { return "NAME=VALUES" }

// check refuses knobs that the model does not have.
func (k knobFlag) check(m *fit.Model) error {
	var known []string
	for _, gpu := range m.GPUTypes() {
		for _, mode := range m.Modes(gpu) {
			for _, knob := range m.Knobs(gpu, mode) {
				if !slices.Contains(known, knob.Name) {
					known = append(known, knob.Name)
				}
			}
		}
	}
	for name := range k {
		if !slices.Contains(known, name) {
			if known == nil {
				return usageError("--knob %s: the model has no knobs; measurements have them in columns x_NAME", name)
			}
			return usageError("--knob %s: want one of the model's knobs: %s", name, strings.Join(known, ", "))
		}
	}
	return nil
}

// settings returns every combination of the knobs' values, one empty one if
// there are none.
func (k knobFlag) settings() []map[string]string {
	all := []map[string]string{nil}
	for _, name := range slices.Sorted(maps.Keys(k)) {
		var next []map[string]string
		for _, s := range all {
			for _, v := range k[name] {
				with := map[string]string{name: v}
				maps.Copy(with, s)
				next = append(next, with)
			}
		}
		all = next
	}
	return all
}

// parseChanges reads --what-if, such as inter_node=0.5x,overlap=max.
func parseChanges(text string) ([]speed.Change, error) {
	var all []speed.Change
	for part := range strings.SplitSeq(text, ",") {
		name, value, _ := strings.Cut(strings.TrimSpace(part), "=")
		bad := usageError("--what-if %q: want NAME=FACTORx, such as inter_node=0.5x for a link that takes half as long, overlap=max or hierarchical", part)
		c := speed.Change{Parameter: name, Factor: 1}
		switch {
		case name == "hierarchical" && (value == "" || value == "yes"), name == "overlap" && value == "max":
		case name == "overlap" || name == "hierarchical" || name == "":
			return nil, bad
		default:
			f, err := strconv.ParseFloat(strings.TrimSuffix(value, "x"), 64)
			if err != nil || !(f > 0 && f < 1e6) {
				return nil, bad
			}
			c.Factor = f
		}
		all = append(all, c)
	}
	return all, nil
}

// whatIf predicts the speedup that changes bring to some configurations.
func (a *app) whatIf(p *predict.Predictor, f predictFlags, configs []data.Config, out format) error {
	answers, err := p.AtAll(configs)
	if err != nil {
		return err
	}
	changes, err := parseChanges(f.whatIf)
	if err != nil {
		return err
	}
	changed, err := p.Model.WhatIf(changes)
	if err != nil {
		return err
	}
	type row struct {
		Config   data.Config   `json:"config"`
		Before   data.Estimate `json:"step_time_s"`
		After    data.Estimate `json:"step_time_then_s"`
		Speedup  data.Estimate `json:"speedup"`
		Extended bool          `json:"extrapolated"`
	}
	var rows []row
	t, people := newTable("config,step_time_s,step_time_then_s,speedup,speedup_lo,speedup_hi,extrapolated"), newTable("workers,batch,step_time,then,speedup,extrap.")
	t.people = &people
	factor := func(v float64) string { return fmt.Sprintf("%.2f×", v) }
	for _, at := range answers {
		then, err := changed.Predict(at.Config)
		if err != nil {
			return err
		}
		faster, err := p.Model.Speedup(changed, at.Config)
		if err != nil {
			return err
		}
		rows = append(rows, row{at.Config, at.StepTime, then.StepTime, faster, at.Extrapolated})
		t.add(at.Config, exact(at.StepTime.Mean), exact(then.StepTime.Mean), exact(faster.Mean), exact(faster.Lo), exact(faster.Hi), at.Extrapolated)
		people.addUnder(kindWords(at.Config), at.Config.Workers, number(at.Config.LocalBatch), between(at.StepTime, seconds), between(then.StepTime, seconds), between(faster, factor), beyond(at))
	}
	return out.print(a.stdout, rows, t)
}

// changeNames lists the parameters that --what-if scales.
func changeNames() []string {
	return []string{"compute", "fixed", "per_batch", "intra_node", "inter_node", "transfer"}
}
