package gradnoise

import (
	"math"

	"knee/data"
)

// LearningRate is one rule for what to multiply the learning rate by when
// the global batch changes.
type LearningRate struct {
	Name   string        // "linear", "square-root" or "adascale"
	Factor data.Estimate // of the learning rate at the initial batch
	Source string        // where the rule was published
}

// LearningRates returns what three published rules advise for a global batch,
// in samples, relative to the initial one, the scale s being their ratio:
// linear s (right while noise dominates the gradient), square root √s (as
// practised with adaptive optimizers), and AdaScale's gain
//
//	(var + sqr)/(var/s + sqr) = (φ + M0)/(φ/s + M0)
//
// which lies between 1 and s by how much noise there is. The rules disagree:
// they are advice, to be shown and not to be applied unseen. It returns nil
// for a batch that is not above 0 or an unknown initial batch.
func (n *Scale) LearningRates(globalBatch float64) []LearningRate {
	if !(globalBatch > 0) || !(n.InitialBatch > 0) {
		return nil
	}
	s := globalBatch / n.InitialBatch
	exactly := func(v float64) data.Estimate { return data.Estimate{Mean: v, Lo: v, Hi: v} }
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
