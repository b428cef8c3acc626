package baseline

import (
	"fmt"
	"math"

	"knee/bayesopt"
)

// The stopping rule of CherryPick (NSDI'17, section 4.2, "Stopping condition").
const (
	cherryPickTrials      = 6
	cherryPickImprovement = 0.10
)

// cherryPick is the search of Alipourfard et al. (NSDI'17, section 4): gp-ei
// after a quasi-random start; it stops after at least six trials when the
// expected improvement is below a tenth of the best objective so far.
func cherryPick(p *bayesopt.Problem) (int, string, string, error) {
	if p.Trials < start || p.Successes == 0 {
		return quasiRandom(p), "next point of a quasi-random sequence", "", nil
	}
	i, logRelative, err := pair{surrogates()["gp"], acquisitions()["ei"]}.best(p)
	fired := ""
	if relative := math.Exp(logRelative); p.Trials >= cherryPickTrials && relative < cherryPickImprovement {
		fired = fmt.Sprintf("stop after %d trials: the expected improvement, %.2g %% of the best, is below %.0f %%",
			p.Trials, 100*relative, 100*cherryPickImprovement)
	}
	return i, "largest expected improvement", fired, err
}

// quasiRandom returns the open candidate nearest to the next point of a
// quasi-random sequence over the features.
func quasiRandom(p *bayesopt.Problem) int {
	left := p.Open()
	u := bayesopt.QuasiRandom(len(p.Points[left[0]]), p.Options.Seed, p.Trials)
	near := make([]float64, len(left))
	for k, i := range left {
		for j, v := range p.Points[i] {
			near[k] -= (v - u[j]) * (v - u[j])
		}
	}
	return left[p.Best(left, near)]
}
