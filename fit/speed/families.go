package speed

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"slices"

	"knee/data"
	"knee/fit/speed/form"
)

// FamilyScore is the accuracy of one family on the measurements of one GPU type
// and mode. Errors are mean absolute percentage errors of the step time, NaN if
// too few measurements can be held out.
type FamilyScore struct {
	GPUType     string
	Mode        data.Mode
	Family      string
	Chosen      bool    // the family the model uses
	LeaveOneOut float64 // percent; each measurement predicted from the others, with the form linearised
	Forward     float64 // percent; the larger half of the worker counts predicted from the smaller
	Missed      float64 // share of these larger measurements outside their 90 % intervals
	Parameters  []form.Param
	Warnings    []string
}

// Families scores every family on the measurements of the model, by GPU type
// and mode, in ascending order of leave-one-out error. It fails only with the
// error of ctx.
func (m *Model) Families(ctx context.Context) ([]FamilyScore, error) {
	var all []FamilyScore
	for _, g := range m.groups {
		for _, gpu := range g.types {
			rows := m.Measurements(gpu, g.mode)
			var scores []FamilyScore
			families := form.FamiliesOf(g.mode)
			if g.family == form.LayoutFamily { // the only family with layouts
				families = []string{form.LayoutFamily}
			} else {
				families = slices.DeleteFunc(families, func(name string) bool { return name == form.LayoutFamily })
			}
			for _, name := range families {
				s := FamilyScore{GPUType: gpu, Mode: g.mode, Family: name, Chosen: name == g.family, LeaveOneOut: math.NaN(), Forward: math.NaN()}
				if err := s.fit(ctx, rows, Settings{Family: name, Seed: m.seed, Prior: g.prior}); err != nil {
					s.Warnings = append(s.Warnings, err.Error())
				}
				if err := ctx.Err(); err != nil {
					return nil, err
				}
				scores = append(scores, s)
			}
			slices.SortStableFunc(scores, func(a, b FamilyScore) int { return cmp.Compare(-b.LeaveOneOut, -a.LeaveOneOut) }) // NaN last
			all = append(all, scores...)
		}
	}
	return all, nil
}

// fit fits a family to rows, and to parts of them for the scores.
func (s *FamilyScore) fit(ctx context.Context, rows []data.Measurement, with Settings) error {
	m, err := Fit(ctx, rows, with)
	if err != nil {
		return err
	}
	g := m.groups[0]
	_, s.Parameters = m.Parameters(s.GPUType, s.Mode)
	if g.status != "" {
		s.Warnings = append(s.Warnings, "did not converge: "+g.status)
	}
	if len(g.rows) > 1 {
		miss, _, err := g.leaveOneOut()
		if err != nil {
			return err
		}
		s.LeaveOneOut = 0
		for _, d := range miss {
			s.LeaveOneOut += 100 * math.Abs(math.Expm1(-d)) / float64(len(miss))
		}
	}
	small, large := byWorkers(rows)
	if len(large) == 0 {
		return nil
	}
	with.HeldOut = large
	if m, err = Fit(ctx, small, with); err != nil {
		return err
	}
	s.Forward, s.Missed = 0, 0
	n := float64(len(large))
	for _, r := range large {
		p, err := m.Predict(r.Config)
		if err != nil {
			return err
		}
		s.Forward += 100 * math.Abs(p.StepTime.Mean/r.StepTime-1) / n
		if r.StepTime < p.StepTime.Lo || r.StepTime > p.StepTime.Hi {
			s.Missed += 1 / n
		}
	}
	return nil
}

// byWorkers divides rows into those with the smaller half of the numbers of workers,
// of at least two, and the others; all are small if there are none.
func byWorkers(rows []data.Measurement) (small, large []data.Measurement) {
	var ks []int
	for _, r := range rows {
		ks = append(ks, r.Workers)
	}
	slices.Sort(ks)
	ks = slices.Compact(ks)
	if len(ks) < 3 { // one size cannot show how steps change
		return rows, nil
	}
	for _, r := range rows {
		if r.Workers <= ks[(len(ks)-1)/2] {
			small = append(small, r)
		} else {
			large = append(large, r)
		}
	}
	return small, large
}

// Doubts returns a message for every GPU type and mode where another family predicts
// larger measurements from smaller ones far better, if the intervals of the family in use
// miss most of these, or it is far worse with single measurements too. Far is at most half
// of an error that exceeds that of published models (plainNoise).
func Doubts(scores []FamilyScore) []string {
	var doubts []string
	for _, s := range scores {
		if !s.Chosen {
			continue
		}
		best := s
		for _, o := range scores {
			if o.GPUType == s.GPUType && o.Mode == s.Mode && o.Forward < best.Forward {
				best = o
			}
		}
		says := fmt.Sprintf("%s: larger sizes are predicted from smaller ones with an error of %.0f %%, by family %s with %.0f %%",
			data.Config{GPUType: s.GPUType, Mode: s.Mode}.Kind(), s.Forward, best.Family, best.Forward)
		switch far := best.Forward < s.Forward/2 && s.Forward > 100*plainNoise; {
		case far && s.Missed > 1./2:
			doubts = append(doubts, says+", and intervals miss most of them; measure a larger size before you rely on predictions beyond it")
		case far && best.LeaveOneOut < s.LeaveOneOut/2:
			doubts = append(doubts, says+fmt.Sprintf("; compare its predictions (knee fit --family %s)", best.Family))
		}
	}
	return doubts
}
