package replay

import (
	"fmt"
	"math"
	"slices"

	"knee/bayesopt"
	"knee/bayesopt/baseline"
	"knee/data"
)

// Reach asks for the fastest configuration on At workers of a table with
// several sizes; trials run on at most Measure workers, Budget times.
type Reach struct {
	At, Measure, Budget int
	Model               bayesopt.JointModel
}

// ReachMethods returns the methods of [Table.Reach]: "guided"; "random", which
// measures at random and chooses by the same model; and "scaled", which
// searches the largest size for trials and adds replicas to its best layout.
func ReachMethods() []string { return []string{baseline.Guided, "random", "scaled"} }

// Reaches reports whether the table has enough to choose from and to measure.
func (t *Table) Reaches(r Reach) bool {
	wanted, near := 0, 0
	for i, c := range t.Candidates {
		if c.Workers == r.At && t.Outcomes[i].Status == data.OK {
			wanted++
		}
		if c.Workers <= r.Measure {
			near++
		}
	}
	return wanted >= minPlans && near > r.Budget
}

// Reach returns the throughput of the choice of a method, as a share (0..1) of
// the best at its size; 0 if it does not fit. It fails with a
// *data.UnknownError for an unknown method.
func (t *Table) Reach(method string, r Reach, seed int64) (float64, error) {
	o := bayesopt.Options{Objective: bayesopt.Throughput, Seed: seed, KeepGoing: true, Forms: t.Forms, Memory: t.Memory}
	small := func(c data.Config) bool { return c.Workers <= r.Measure }
	h, search := bayesopt.History{Candidates: t.Candidates}, method
	switch method {
	case baseline.Guided, "random":
		o.Target = &bayesopt.Target{Model: r.Model, At: func(c data.Config) bool { return c.Workers == r.At }, Measure: small}
	case "scaled":
		largest := 0
		for _, c := range t.Candidates {
			if small(c) {
				largest = max(largest, c.Workers)
			}
		}
		h.Candidates = slices.DeleteFunc(slices.Clone(t.Candidates), func(c data.Config) bool { return c.Workers != largest })
		search = baseline.Guided
	default:
		return 0, &data.UnknownError{What: "method", Name: method, Known: ReachMethods()}
	}
	s, err := baseline.NewStrategy(search, o)
	if err != nil {
		return 0, err
	}
	for range r.Budget {
		next, err := s.Next(h)
		if err != nil {
			return 0, err
		}
		if next.Stop {
			break
		}
		row := slices.IndexFunc(t.Candidates, func(c data.Config) bool { return c.Key() == next.Config.Key() })
		m := t.measurement(row, Goal{Time: true}, seed, 1)
		m.Architecture = t.Architecture
		h.Measured = append(h.Measured, m)
	}
	if method == "scaled" {
		return t.share(t.scaled(h.Measured, r.At), r.At), nil
	}
	chooser, err := bayesopt.NewGuided(o)
	if err != nil {
		return 0, err
	}
	last, err := chooser.Next(h)
	if err != nil {
		return 0, fmt.Errorf("%s: %w", t.Name, err)
	}
	return t.share(last.Choice, r.At), nil
}

// share returns the throughput of a configuration as a share of the best at a
// size.
func (t *Table) share(choice data.Config, at int) float64 {
	got, best := 0.0, 0.0
	for i, c := range t.Candidates {
		if o := t.Outcomes[i]; o.Status == data.OK && c.Workers == at {
			speed := c.SamplesPerStep() / o.Time
			if best = max(best, speed); c.Key() == choice.Key() {
				got = speed
			}
		}
	}
	return got / best
}

// scaled returns the configuration at a size with the layout of the fastest
// measured one that exists there, and the nearest batch.
func (t *Table) scaled(measured []data.Measurement, at int) data.Config {
	speed := func(m data.Measurement) float64 { return m.SamplesPerStep() / m.StepTime }
	ok := slices.DeleteFunc(slices.Clone(measured), func(m data.Measurement) bool { return m.Status != data.OK })
	slices.SortFunc(ok, func(a, b data.Measurement) int { return int(math.Copysign(1, speed(b)-speed(a))) })
	for _, m := range ok {
		pick, nearest := data.Config{}, math.Inf(1)
		for _, c := range t.Candidates {
			if gap := math.Abs(math.Log(c.LocalBatch / m.LocalBatch)); c.Workers == at && c.Layout == m.Layout && gap < nearest {
				pick, nearest = c, gap
			}
		}
		if pick.Workers > 0 {
			return pick
		}
	}
	return data.Config{}
}
