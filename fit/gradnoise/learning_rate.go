package gradnoise

import "math"

// LearningRate is a rule for scaling the learning rate with the global batch.
type LearningRate struct {
	Name   string  // "linear", "square-root" or "adascale"
	Factor float64 // multiplies the learning rate at the initial batch
}

// LearningRates returns the factors of three published rules for a global batch
// of s times the initial one, in samples: linear s (right while noise dominates
// the gradient; Goyal et al., 2017, section 2.1), square root √s (as used with
// adaptive optimizers; Krizhevsky, 2014, section 5), and the gain of AdaScale
// (Johnson et al., ICML'20, section 3)
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
	gain := (n.Phi.Mean + n.InitialBatch) / (n.Phi.Mean/s + n.InitialBatch)
	return []LearningRate{{"linear", s}, {"square-root", math.Sqrt(s)}, {"adascale", gain}}
}
