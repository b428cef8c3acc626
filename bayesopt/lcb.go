package bayesopt

// confidenceWidth is the number of standard deviations of LCB, the usual 2.
const confidenceWidth = 2

// LCB returns the negated lower confidence bound −(mean − 2·sd) of a quantity
// to be minimised (Srinivas et al. 2010, section 3, with a fixed width): larger
// is better. The best value so far plays no part.
func LCB(mean, sd float64) float64 { return confidenceWidth*sd - mean }
