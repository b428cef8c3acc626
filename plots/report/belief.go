package report

import (
	"context"

	"knee/plots"
)

// reportBelief adds what the search of the job's study believes and expects to
// gain, over its two most telling knobs, or along the one it has. Without a
// study or without a trial that succeeded there is no such figure.
func (j *job) reportBelief(ctx context.Context, in *Inputs, s *Section) error {
	for _, study := range in.Studies {
		if study.Job != j.name || len(j.measurements) == 0 {
			continue
		}
		b, err := plots.NewBelief(study, j.measurements, j.curve)
		if err != nil {
			s.Text = append(s.Text, "What the search believes could not be worked out: "+err.Error())
			continue
		}
		knobs := b.Knobs()
		switch {
		case ctx.Err() != nil:
			return ctx.Err()
		case len(knobs) > 1:
			spec, err := b.Over(knobs[0], knobs[1])
			if err == nil {
				var fig plots.Figure
				fig, err = plots.NewSurface(spec)
				s.figure(fig, err, "Left what is believed of every configuration, right by how much it is expected to beat the best so far.")
			}
		case len(knobs) == 1:
			spec, err := b.Along(knobs[0])
			if err == nil {
				var fig plots.Figure
				fig, err = plots.NewSurrogate(spec)
				s.figure(fig, err, "Above what is believed, below by how much it is expected to beat the best so far.")
			}
		}
	}
	return nil
}
