package main

import (
	"strings"

	"knee/bayesopt"
	"knee/data"
	"knee/plots"
	"knee/profile"
)

// searched is a study with what was measured of it, and the search that would
// go on from there.
type searched struct {
	study     *data.Study
	objective bayesopt.Objective
	guided    *bayesopt.Guided
	history   bayesopt.History
	next      bayesopt.Suggestion
}

func newSearched(path string, ms []data.Measurement) (*searched, error) {
	study, err := data.LoadStudy(path)
	if err != nil {
		return nil, err
	}
	candidates, err := profile.Candidates(study)
	if err != nil {
		return nil, err
	}
	strategy, err := profile.NewStrategy(study, profile.Search{Strategy: "knee"}, nil)
	if err != nil {
		return nil, err
	}
	objective, err := bayesopt.ParseObjective(study.Objective)
	if err != nil {
		return nil, err
	}
	s := &searched{study: study, objective: objective, guided: strategy.(*bayesopt.Guided), // what the name knee stands for
		history: bayesopt.History{Candidates: candidates, Measured: ms}}
	s.next, err = s.guided.Next(s.history)
	return s, err
}

// title names a figure of what is believed.
func (s *searched) title() string { return "What the search of " + s.study.Job + " believes" }

// label names the objective with its unit.
func (s *searched) label() string { return objectiveLabel(s.objective, s.study.Objective.Samples) }

// isNext reports whether a candidate is what would be measured next.
func (s *searched) isNext(index int) bool { return !s.next.Stop && s.next.Index == index }

// knobWords is the name of a knob for people.
func knobWords(knob string) string { return strings.ReplaceAll(knob, "_", " ") }

// surrogateFigure draws the belief of a study's search along one knob.
func surrogateFigure(path, along string, ms []data.Measurement) (plots.Figure, error) {
	s, err := newSearched(path, ms)
	if err != nil {
		return nil, err
	}
	slice, err := s.guided.Along(s.history, along)
	if err != nil {
		return nil, err
	}
	spec := plots.Surrogate{Title: s.title(), Subtitle: "everything but " + knobWords(along) + " as in " + slice.Through.String(),
		Knob: knobWords(along), Objective: s.label(), GainLabel: "expected gain (%)"}
	for _, p := range slice.Points {
		spec.Belief = append(spec.Belief, plots.BandOf(p.Value, p.Expected, false))
		spec.Gain = append(spec.Gain, plots.Band{X: p.Value, Mean: 100 * p.Improvement})
		for _, m := range ms {
			if m.Key() != s.history.Candidates[p.Index].Key() {
				continue
			}
			if y, ok := s.guided.Value(m); ok || m.Status != data.OK {
				spec.Points = append(spec.Points, plots.Point{X: p.Value, Y: y, Status: m.Status})
			}
		}
		if s.isNext(p.Index) {
			spec.Next = &p.Value
		}
	}
	return plots.NewSurrogate(spec)
}
