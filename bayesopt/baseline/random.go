package baseline

import (
	"fmt"

	"knee/bayesopt"
)

// random draws uniformly from what is left: what every other method has to
// beat.
func random(p *bayesopt.Problem) (int, string, string, error) {
	left := p.Open()
	return left[p.Rand().IntN(len(left))], fmt.Sprintf("drawn at random from the %d candidates left", len(left)), "", nil
}
