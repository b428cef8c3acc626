package fit

import (
	"fmt"
	"math"

	"gonum.org/v1/gonum/mat"

	"knee/data"
	"knee/internal/nnls"
)

// linearPrior is how far each coefficient may reasonably be from zero: far
// enough to explain the whole of a typical step time alone. It only matters
// for intervals, where the data leave a coefficient open.
func linearPrior(f linearForm, pts []point, step float64) prior {
	n := len(f.features(&pts[0]))
	p := prior{mean: make([]float64, n), sd: make([]float64, n)}
	for i := range pts {
		for j, v := range f.features(&pts[i]) {
			p.sd[j] += v * v / float64(len(pts))
		}
	}
	for j, v := range p.sd {
		p.sd[j] = step
		if v > 0 {
			p.sd[j] = step / math.Sqrt(v)
		}
	}
	return p
}

// solveLinear fits a linear form by least squares on relative errors with
// coefficients ≥ 0. Without the weights the slowest configurations, which
// nobody wants to run, would decide the fit.
func solveLinear(f linearForm, pts []point, ms []data.Measurement) (theta []float64, status string, err error) {
	n := len(f.features(&pts[0]))
	a, b := mat.NewDense(len(pts), n, nil), make([]float64, len(pts))
	for i := range pts {
		b[i] = 1
		for j, v := range f.features(&pts[i]) {
			a.Set(i, j, v/ms[i].StepTime)
		}
	}
	theta, st, err := nnls.Solve(a, b)
	if err != nil {
		return nil, "", fmt.Errorf("fit family %s: %w", f.name(), err)
	}
	if st != nnls.Converged {
		status = st.String()
	}
	return theta, status, nil
}

// sumTerms returns Σ θ·feature with negative coefficients, which posterior
// draws may have, taken as zero. It is never zero, so that its logarithm is
// a number: a draw whose terms all vanish is one nanosecond long.
func sumTerms(theta, features []float64) float64 {
	t := 1e-9
	for j, v := range features {
		t += math.Max(theta[j], 0) * v
	}
	return t
}
