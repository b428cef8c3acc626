// Package interference predicts the speed of two jobs on the same GPUs from
// measured pairs.
//
// The slowdown s of A beside B is its speed alone over its speed beside B. A
// transformation of it is a sum:
//
//	h(s) = μ + sensitivity(A) + pressure(B) + noise
//
// Sensitivity and pressure have parts for the job, the job on the GPU type, and
// the family (jobs that differ only in batch); μ has one for the GPU type, and
// each pair of families an interaction. The transformation h(s) =
// (1+c)·ln((s−1+c)/(1+c)) has slope 1 at s = 2, where two jobs take turns. As c
// → 0, the excess s − 1 is a product: the share of time in which A uses a
// resource, times the share of it that B uses. With c = 1 the slowdown is a
// product; as c → ∞, it is a sum: demands for a resource add up. c is fitted,
// like the variances (transformations to additivity: Box and Cox, JRSS B 1964).
//
// Whether two jobs fit in the memory of a GPU is a second sum, over both jobs.
package interference

import (
	"math"
	"regexp"
	"slices"
	"strconv"

	"gonum.org/v1/gonum/stat/distuv"

	"knee/data"
)

// Row is one job of a measured pair.
type Row struct {
	Job     string  `json:"application" csv:"application" required:"true" keep:""`
	Beside  string  `json:"beside" csv:"beside" required:"true" keep:""`
	GPUType string  `json:"gpu_type" csv:"gpu_type" required:"true" keep:""`
	Workers int     `json:"workers" csv:"workers" min:"1" keep:""`                                // of each job; 0 for any number
	Share   float64 `json:"share" csv:"share" is:"not negative" of:"a number" by:"hand" keep:"0"` // speed beside the other over speed alone; 0 if the two do not fit on the GPU
}

// Model is fitted to measured pairs.
type Model struct {
	level, memory *effects
	c             float64 // of the transformation
	perType       bool    // a pair of families interacts differently on every GPU type
	most          float64 // largest measured share, at least 1; bounds predictions
}

// Prediction is the predicted speed of a job beside another.
type Prediction struct {
	Share data.Estimate // speed over speed alone, if the two fit; Mean is the median
	Fits  float64       // probability that the two fit in memory
	// Quantile returns a quantile of the share.
	Quantile func(q float64) float64
}

// Groups of effects; those per role occur for sensitivity and for pressure.
const (
	ofJob = iota
	ofJobOnType
	ofFamily
	perRole

	sensitivity = 0
	pressure    = perRole
	ofAll       = 2 * perRole
	ofType      = ofAll + 1
	allGroups   = ofType + 1
)

// Fit fits a model; without rows, with the wide intervals of the prior.
func Fit(rows []Row) *Model {
	m := &Model{c: 1, most: 1, level: fitEffects(nil, allGroups, nil)}
	// A pair that fits and one that does not, of any jobs: Laplace's rule of
	// succession, without which a few pairs that all fit would make the next certain.
	memory := []row{{effects: []effect{{ofAll, ""}}, y: 1}, {effects: []effect{{ofAll, ""}}, y: -1}}
	var fit []Row
	least := 0.0
	for _, r := range rows {
		if r.Share == 0 {
			memory = append(memory, together(r, -1))
			continue
		}
		memory, fit = append(memory, together(r, 1)), append(fit, r)
		least, m.most = math.Min(least, 1/r.Share-1), math.Max(m.most, r.Share)
	}
	m.memory = fitEffects(memory, allGroups, nil)
	best := math.Inf(-1)
	var begin []float64
	for _, perType := range []bool{false, true} {
		var levels []row
		for _, r := range fit {
			levels = append(levels, beside(r, perType))
		}
		for k := -5; k <= 5 && len(levels) > 0; k += 2 {
			c, slopes := math.Ldexp(1, k)-least, 0.0
			for i, r := range fit {
				x := 1/r.Share - 1
				levels[i].y = level(x, c)
				slopes += math.Log((1 + c) / (x + c))
			}
			e := fitEffects(levels, allGroups, begin)
			if e.evidence+slopes > best {
				best, m.level, m.c, m.perType = e.evidence+slopes, e, c, perType
			}
			begin = slices.Clone(e.variance)
		}
	}
	return m
}

// level is the transformation h of an excess s − 1; excessOf is its inverse.
func level(x, c float64) float64    { return (1 + c) * math.Log((x+c)/(1+c)) }
func excessOf(h, c float64) float64 { return (1+c)*math.Exp(h/(1+c)) - c }

// Predict predicts the speed of the row's job beside the other; the row's share
// is ignored. Worker counts not measured on the GPU type count as any number.
func (m *Model) Predict(r Row) Prediction {
	if _, known := m.level.column[effect{ofType, where(r)}]; !known {
		r.Workers = 0
	}
	mean, variance := m.level.predict(beside(r, m.perType))
	level := distuv.StudentsT{Mu: mean, Sigma: math.Sqrt(variance), Nu: 1 + m.level.size[allGroups+1]}
	fits, doubt := m.memory.predict(together(r, 0))
	p := Prediction{Fits: distuv.UnitNormal.CDF(fits / math.Sqrt(doubt)), Quantile: func(q float64) float64 {
		if s := 1 + excessOf(level.Quantile(1-q), m.c); s > 1/m.most {
			return 1 / s
		}
		return m.most
	}}
	p.Share = data.Estimate{Mean: p.Quantile(.5), Lo: p.Quantile(.05), Hi: p.Quantile(.95)}
	return p
}

// beside returns the effects on the slowdown of a row.
func beside(r Row, perType bool) row {
	out := row{cell: family(r.Job) + "\x00" + family(r.Beside), effects: []effect{{ofAll, ""}, {ofType, where(r)}}}
	if perType {
		out.cell += "\x00" + where(r)
	}
	out.role(sensitivity, r.Job, where(r))
	out.role(pressure, r.Beside, where(r))
	return out
}

// together returns the effects on whether two jobs fit, of both alike.
func together(r Row, y float64) row {
	a, b := family(r.Job), family(r.Beside)
	out := row{cell: min(a, b) + "\x00" + max(a, b), y: y, effects: []effect{{ofAll, ""}, {ofType, where(r)}}}
	out.role(sensitivity, r.Job, where(r))
	out.role(sensitivity, r.Beside, where(r))
	return out
}

// where is the GPU type of a row; several workers count as a type of their own.
func where(r Row) string {
	if r.Workers > 1 {
		return r.GPUType + " × " + strconv.Itoa(r.Workers)
	}
	return r.GPUType
}

// role adds the effects of a job in the role of sensitivity or pressure.
func (r *row) role(of int, job, where string) {
	r.effects = append(r.effects, effect{of + ofJob, job}, effect{of + ofJobOnType, job + "\x00" + where}, effect{of + ofFamily, family(job)})
}

// family is the name of a job without its batch.
func family(job string) string { return batch.ReplaceAllString(job, "") }

// batch matches the batch in a job name of Gavel: "ResNet-18 (batch size 64)".
var batch = regexp.MustCompile(` *\(batch size [0-9]+\)`)
