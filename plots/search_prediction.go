package plots

import (
	"errors"
	"strings"

	"knee/bayesopt"
	"knee/data"
	"knee/fit/gradnoise"
	"knee/profile"
	"knee/profile/space"
)

// SearchPrediction is what the search of a study predicts after some trials.
type SearchPrediction struct {
	study     *data.Study
	objective bayesopt.Objective
	guided    *bayesopt.Guided
	history   bayesopt.History
	next      bayesopt.Suggestion
}

// NewSearchPrediction lets the guided search of a study look at trials. Of training
// curves it takes the worth of a sample at every batch, which goodput and cost
// depend on; without gradient statistics in them every sample counts alike. It
// fails as the search does.
func NewSearchPrediction(study *data.Study, trials []data.Measurement, curves []data.CurvePoint) (*SearchPrediction, error) {
	candidates, err := space.Candidates(study)
	if err != nil {
		return nil, err
	}
	var efficiency func(float64) float64
	if scale, err := gradnoise.Fit(curves, study.Batch.Initial); err == nil {
		efficiency = func(batch float64) float64 { return scale.Efficiency(batch).Mean }
	}
	strategy, err := profile.NewStrategy(study, profile.Search{}, efficiency)
	if err != nil {
		return nil, err
	}
	guided, ok := strategy.(*bayesopt.Guided) // the default
	if !ok {
		return nil, errors.New("plots: the strategy knee does not tell what it predicts")
	}
	objective, err := bayesopt.ParseObjective(study.Objective)
	if err != nil {
		return nil, err
	}
	b := &SearchPrediction{study: study, objective: objective, guided: guided, history: bayesopt.History{Candidates: candidates, Measured: trials}}
	b.next, err = guided.Next(b.history)
	return b, err
}

// title names a figure of what is predicted.
func (b *SearchPrediction) title() string { return "What the search of " + b.study.Job + " predicts" }

// label names the objective with its unit.
func (b *SearchPrediction) label() string {
	switch b.objective {
	case bayesopt.Throughput, bayesopt.Goodput:
		return string(b.objective) + " (samples/s)"
	case bayesopt.CostToTarget:
		if b.study.Objective.Samples > 0 {
			return "cost of the job (US$)"
		}
		return "cost per sample (US$)"
	}
	return "step time (s)"
}

// isNext reports whether a candidate is what would be measured next.
func (b *SearchPrediction) isNext(index int) bool { return !b.next.Stop && b.next.Index == index }

// knobWords is the name of a knob for people.
func knobWords(knob string) string { return strings.ReplaceAll(knob, "_", " ") }

// Along describes the prediction along one knob, see [bayesopt.Guided.Slice].
func (b *SearchPrediction) Along(knob string) (Surrogate, error) {
	slice, err := b.guided.Slice(b.history, knob)
	if err != nil {
		return Surrogate{}, err
	}
	spec := Surrogate{Title: b.title(), Subtitle: "everything but " + knobWords(knob) + " as in " + slice.Through.String(),
		Knob: knobWords(knob), Objective: b.label()}
	for _, p := range slice.Points {
		spec.Prediction = append(spec.Prediction, BandOf(p.Value, p.Expected, false))
		spec.Gain = append(spec.Gain, Band{X: p.Value, Mean: 100 * p.Improvement})
		for _, m := range b.history.Measured {
			if m.Key() != b.history.Candidates[p.Index].Key() {
				continue
			}
			if y, ok := b.guided.Value(m); ok || m.Status != data.OK {
				spec.Points = append(spec.Points, Point{X: p.Value, Y: y, Status: m.Status})
			}
		}
		if b.isNext(p.Index) {
			spec.Next = &p.Value
		}
	}
	return spec, nil
}
