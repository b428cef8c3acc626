package bayesopt

import (
	"math"

	"gonum.org/v1/gonum/stat/distuv"
)

// record holds the standard normal scores of every trial after the first
// recordFrom, predicted from those before it. Scores of about one mean that
// predicted standard deviations are correct.
type record []float64

// recordFrom is the number of first trials left out: the first has no
// prediction, the second hardly one.
const recordFrom = 2

// width returns the factor on standard deviations that makes the past scores
// standard normal.
func (r record) width(trust float64) float64 {
	sum := trust
	for _, z := range r {
		sum += z * z
	}
	return math.Sqrt(sum / (trust + float64(len(r))))
}

// newRecord computes the scores; excess, if not nil, is by how much each response
// exceeds the lower bound that is all that is known of it, 0 for a measured one. A bound
// above which the prediction lies is no score, as it confirms too little. The Cholesky factor of the first k trials is
// the leading block of that of all, so predictions from earlier trials need no
// further factorisation; the weights of the draws are those at that trial.
func newRecord(draws []weighted, excess []float64) record {
	n := len(draws[0].gp.y)
	if excess == nil {
		excess = make([]float64, n)
	}
	type course struct{ v, logged, scale float64 }
	steps := make([][]course, len(draws)) // per draw and trial
	for k, d := range draws {
		v := d.gp.white
		steps[k] = make([]course, n)
		scale, logDet := sigmaScale, 0.0
		for i := range n {
			shape := sigmaShape + 0.5*float64(i)
			steps[k][i] = course{v[i] - excess[i]*math.Exp(-d.gp.factor.LogDiagonal(i)), d.prior - shape*math.Log(scale) - logDet, scale}
			scale += 0.5 * v[i] * v[i]
			logDet += d.gp.factor.LogDiagonal(i)
		}
	}
	var r record
	for i := recordFrom; i < n; i++ {
		shape := sigmaShape + 0.5*float64(i)
		top := math.Inf(-1)
		for k := range steps {
			top = max(top, steps[k][i].logged)
		}
		var below, sum float64
		for k := range steps {
			s := steps[k][i]
			w := math.Exp(s.logged - top)
			below += w * distuv.StudentsT{Sigma: 1, Nu: 2 * shape}.CDF(s.v/math.Sqrt(s.scale/shape))
			sum += w
		}
		if z := distuv.UnitNormal.Quantile(min(below/sum, 1)); z > 0 || excess[i] == 0 {
			r = append(r, min(max(z, -8), 8))
		}
	}
	return r
}
