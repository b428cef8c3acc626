package baseline

import (
	"fmt"

	"knee/bayesopt"
)

// random draws uniformly from the open candidates.
func random(p *bayesopt.Problem) (int, string, string, error) {
	left := p.Open()
	return left[p.Rand().IntN(len(left))], fmt.Sprintf("drawn at random from the %d candidates left", len(left)), "", nil
}
