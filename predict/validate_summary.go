package predict

import (
	"cmp"
	"math"
	"slices"

	"knee/data"
	"knee/internal/grouped"
	"knee/internal/quantile"
)

// Summary is the accuracy on held-out measurements: absolute errors of the step time, all
// but N in percent. Fields that do not distinguish the row are empty.
type Summary struct {
	Family    string    `json:"family"`
	Job       string    `json:"job,omitempty"`
	GPUType   string    `json:"gpu_type,omitempty"`
	Mode      data.Mode `json:"mode,omitempty"`
	Distance  string    `json:"distance,omitempty"` // "inside" or "extrapolated"
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

// ByGroup summarises by job, GPU type and mode, with families adjacent.
func (v *Validation) ByGroup() []Summary {
	return v.by(func(r Residual) Summary {
		return Summary{Job: r.Measured.Job, GPUType: r.Measured.GPUType, Mode: r.Measured.ModeOrDefault()}
	})
}

// ByDistance summarises inside the range fitted, then outside it ("extrapolated").
func (v *Validation) ByDistance() []Summary {
	all := v.by(func(r Residual) Summary {
		if r.Extrapolated {
			return Summary{Distance: "extrapolated"}
		}
		return Summary{Distance: "inside"}
	})
	slices.SortStableFunc(all, func(a, b Summary) int { return cmp.Compare(b.Distance, a.Distance) })
	return all
}

// by summarises the residuals by family and by the fields that key sets.
func (v *Validation) by(key func(Residual) Summary) []Summary {
	var all []Summary
	keys, groups := grouped.By(v.Residuals, key)
	for _, k := range keys {
		_, of := grouped.By(groups[k], func(r Residual) string { return r.Family })
		for _, family := range v.Families {
			if len(of[family]) > 0 {
				k.Family = family
				all = append(all, k.of(of[family]))
			}
		}
	}
	return all
}

// of returns the summary with the figures of at least one residual.
func (s Summary) of(rs []Residual) Summary {
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
	s.N, s.MAPE, s.Median, s.P90 = len(rs), sum/n, quantile.Median(errs), quantile.Sorted(errs, .9)
	s.Coverage, s.HalfWidth = 100*covered/n, quantile.Median(widths)
	return s
}

// halfWidth is half the width of an interval relative to the estimate.
func halfWidth(e data.Estimate) float64 { return (e.Hi - e.Lo) / (2 * e.Mean) }
