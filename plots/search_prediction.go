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

// SurrogateOf describes what the guided search of a study predicts along a knob
// after some trials, see [bayesopt.Guided.Slice]. Goodput and cost depend on the
// statistical efficiency, which is fitted to the training curves, and 1 if they have
// no gradient statistics. It fails as the search does.
func SurrogateOf(study *data.Study, trials []data.Measurement, curves []data.CurvePoint, knob string) (Surrogate, error) {
	candidates, err := space.Candidates(study)
	if err != nil {
		return Surrogate{}, err
	}
	var efficiency func(float64) float64
	if scale, err := gradnoise.Fit(curves, study.Batch.Initial); err == nil {
		efficiency = func(batch float64) float64 { return scale.Efficiency(batch).Mean }
	}
	strategy, err := profile.NewStrategy(study, profile.Search{}, efficiency)
	if err != nil {
		return Surrogate{}, err
	}
	guided, ok := strategy.(*bayesopt.Guided) // the default
	if !ok {
		return Surrogate{}, errors.New("plots: only the guided search predicts")
	}
	history := bayesopt.History{Candidates: candidates, Measured: trials}
	next, err := guided.Next(history)
	if err != nil {
		return Surrogate{}, err
	}
	slice, err := guided.Slice(history, knob)
	if err != nil {
		return Surrogate{}, err
	}
	words := strings.ReplaceAll(knob, "_", " ")
	s := Surrogate{Title: "What the search of " + study.Job + " predicts", Subtitle: "everything but " + words + " as in " + slice.Through.String(),
		Knob: words, Objective: objectiveLabel(study)}
	for _, p := range slice.Points {
		s.Prediction = append(s.Prediction, BandOf(p.Value, p.Expected, false))
		s.Gain = append(s.Gain, Band{X: p.Value, Mean: 100 * p.Improvement})
		for _, m := range trials {
			if m.Key() != candidates[p.Index].Key() {
				continue
			}
			if y, ok := guided.Value(m); ok || m.Status != data.OK {
				s.Points = append(s.Points, Point{X: p.Value, Y: y, Status: m.Status})
			}
		}
		if !next.Stop && next.Index == p.Index {
			s.Next = &p.Value
		}
	}
	return s, nil
}

// objectiveLabel names the objective of a study with its unit.
func objectiveLabel(study *data.Study) string {
	switch named := bayesopt.Objective(study.Objective.Maximize + study.Objective.Minimize); {
	case named == bayesopt.CostToTarget && study.Objective.Samples > 0:
		return "cost of the job (US$)"
	case named == bayesopt.CostToTarget:
		return "cost per sample (US$)"
	case named == bayesopt.StepTime || study.Objective.Cover:
		return "step time (s)"
	case named == bayesopt.Goodput:
		return Goodput.label()
	}
	return Throughput.label()
}
