package gradnoise

import (
	"math"

	"knee/data"
)

// LearningRate is a rule for scaling the learning rate with the global batch.
type LearningRate struct {
	Name   string        // "linear", "square-root" or "adascale"
	Factor data.Estimate // multiplies the learning rate at the initial batch
	Source string        // where the rule was published
}

// LearningRates returns the factors of three published rules for a global batch
// of s times the initial one, in samples: linear s (right while noise dominates
// the gradient), square root √s (as used with adaptive optimizers), and
// AdaScale's gain
//
//	(var + sqr)/(var/s + sqr) = (φ + M0)/(φ/s + M0)
//
// which lies between 1 and s, the nearer to s the more noise. The rules
// disagree: show them, do not apply them unseen. It returns nil unless
// globalBatch and the initial batch are above 0.
func (n *Scale) LearningRates(globalBatch float64) []LearningRate {
	if !(globalBatch > 0) || !(n.InitialBatch > 0) {
		return nil
	}
	s := globalBatch / n.InitialBatch
	gain := func(phi float64) float64 { return (phi + n.InitialBatch) / (phi/s + n.InitialBatch) }
	ada := data.Estimate{Mean: gain(n.Phi.Mean), Lo: gain(n.Phi.Lo), Hi: gain(n.Phi.Hi)}
	if ada.Lo > ada.Hi { // below the initial batch more noise means a smaller gain
		ada.Lo, ada.Hi = ada.Hi, ada.Lo
	}
	return []LearningRate{
		{"linear", exactly(s), "Goyal et al., 2017, section 2.1"},
		{"square-root", exactly(math.Sqrt(s)), "Krizhevsky, 2014, section 5"},
		{"adascale", ada, "Johnson et al., ICML'20, section 3"},
	}
}
