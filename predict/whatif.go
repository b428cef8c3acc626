package predict

import (
	"fmt"
	"strconv"
	"strings"

	"knee/data"
	"knee/fit"
	"knee/fit/speed"
)

// Change returns a model under changes with commas between them: a factor on the
// seconds of a parameter (inter_node=0.5x), overlap=max, or hierarchical.
func Change(m *fit.Model, text string) (*fit.Model, error) {
	var all []speed.Change
	for part := range strings.SplitSeq(text, ",") {
		name, value, _ := strings.Cut(strings.TrimSpace(part), "=")
		c := speed.Change{Parameter: name, Factor: 1}
		var err error
		switch {
		case name == "hierarchical" && (value == "" || value == "yes"), name == "overlap" && value == "max":
		case name == "overlap", name == "hierarchical", name == "":
			c.Factor = 0
		default:
			c.Factor, err = strconv.ParseFloat(strings.TrimSuffix(value, "x"), 64)
		}
		if err != nil || !(c.Factor > 0 && c.Factor < 1e6) {
			return nil, data.Invalid("what-if", fmt.Sprintf("%q", part), "NAME=FACTORx, such as inter_node=0.5x for a link that takes half as long, overlap=max or hierarchical")
		}
		all = append(all, c)
	}
	changed := *m
	var err error
	changed.Model, err = m.WhatIf(all)
	return &changed, err
}

// Changed is what a change does to one configuration.
type Changed struct {
	Config       data.Config   `json:"config"`
	Before       data.Estimate `json:"step_time_s"`
	After        data.Estimate `json:"step_time_then_s"`
	Speedup      data.Estimate `json:"speedup"` // draw by draw of the posterior, so known better than either time
	Extrapolated bool          `json:"extrapolated"`
}

// WhatIf predicts configurations under a change of the model that gave the answers.
func WhatIf(m, changed *fit.Model, answers []Answer) ([]Changed, error) {
	all := make([]Changed, len(answers))
	for i, a := range answers {
		then, err := changed.Predict(a.Config)
		if err != nil {
			return nil, err
		}
		faster, err := m.Speedup(changed.Model, a.Config)
		if err != nil {
			return nil, err
		}
		t := then.StepTime
		t.Mean = min(max(a.StepTime.Mean/faster.Mean, t.Lo), t.Hi) // the same ratio, where its interval allows
		all[i] = Changed{a.Config, a.StepTime, t, faster, a.Extrapolated}
	}
	return all, nil
}
