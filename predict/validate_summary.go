package predict

import (
	"math"
	"slices"

	"knee/data"
	"knee/internal/quantile"
)

// Distances returns the groups of [Validation.ByDistance]: inside the range of
// the measurements fitted, and outside it.
func Distances() []string { return []string{"inside", "extrapolated"} }

// distance returns the entry of Distances for the residual.
func (r Residual) distance() string {
	if r.Extrapolated {
		return Distances()[1]
	}
	return Distances()[0]
}

// Summary is the accuracy of predictions of held-out measurements. Errors are
// absolute percentage errors of the step time; all figures but N are in
// percent. Fields that do not distinguish the row are empty.
type Summary struct {
	Family    string    `json:"family"`
	Job       string    `json:"job,omitempty"`
	GPUType   string    `json:"gpu_type,omitempty"`
	Mode      data.Mode `json:"mode,omitempty"`
	Distance  string    `json:"distance,omitempty"` // of [Distances]
	N         int       `json:"n"`
	MAPE      float64   `json:"mape"`
	Median    float64   `json:"median"`
	P90       float64   `json:"p90"`
	Coverage  float64   `json:"coverage"`   // of the 90 % intervals
	HalfWidth float64   `json:"half_width"` // median of (hi − lo)/2 relative to the prediction
}

// Totals summarises all residuals, one summary per family.
func (v *Validation) Totals() []Summary {
	return v.by(func(r Residual) Summary { return Summary{} })
}

// ByGroup summarises by job, GPU type and mode, in order of appearance; the
// families of a group are adjacent.
func (v *Validation) ByGroup() []Summary {
	return v.by(func(r Residual) Summary {
		return Summary{Job: r.Measured.Job, GPUType: r.Measured.GPUType, Mode: r.Measured.ModeOrDefault()}
	})
}

// ByDistance summarises by entry of [Distances], without empty ones.
func (v *Validation) ByDistance() []Summary {
	all := v.by(func(r Residual) Summary { return Summary{Distance: r.distance()} })
	order := Distances()
	slices.SortStableFunc(all, func(a, b Summary) int {
		return slices.Index(order, a.Distance) - slices.Index(order, b.Distance)
	})
	return all
}

// by summarises the residuals by family and by the fields that key sets.
func (v *Validation) by(key func(Residual) Summary) []Summary {
	var order []Summary
	groups := map[Summary][]Residual{}
	for _, r := range v.Residuals {
		k := key(r)
		if _, seen := groups[k]; !seen {
			groups[k] = nil
			order = append(order, k)
		}
		groups[k] = append(groups[k], r)
	}
	var all []Summary
	for _, k := range order {
		for _, family := range v.Families {
			of := slices.DeleteFunc(slices.Clone(groups[k]), func(r Residual) bool { return r.Family != family })
			if len(of) > 0 {
				s := summarize(of)
				s.Family, s.Job, s.GPUType, s.Mode, s.Distance = family, k.Job, k.GPUType, k.Mode, k.Distance
				all = append(all, s)
			}
		}
	}
	return all
}

// summarize computes the figures of at least one residual.
func summarize(rs []Residual) Summary {
	var errs, widths []float64
	var sum, covered float64
	for _, r := range rs {
		e := 100 * math.Abs(r.Error())
		errs, sum = append(errs, e), sum+e
		widths = append(widths, 100*halfWidth(r.Predicted))
		if r.Covered() {
			covered++
		}
	}
	n := float64(len(rs))
	slices.Sort(errs)
	return Summary{N: len(rs), MAPE: sum / n, Median: quantile.Median(errs), P90: quantile.Sorted(errs, .9),
		Coverage: 100 * covered / n, HalfWidth: quantile.Median(widths)}
}

// halfWidth is half the width of an interval relative to the estimate.
func halfWidth(e data.Estimate) float64 { return (e.Hi - e.Lo) / (2 * e.Mean) }
