package fit

import "knee/data"

// newAmdahlForm makes the family amdahl: Amdahl's law ("Validity of the
// single processor approach to achieving large scale computing
// capabilities", AFIPS 1967). A share σ of the work is serial, so that the
// speedup of k workers is 1/(σ + (1−σ)/k) = k/(1 + σ(k−1)). That is [USL]
// with Kappa = 0, which is the type the fit yields, and what was said there
// of local batches holds here.
func newAmdahlForm(mode data.Mode, pts []point, s scale) form {
	return newScalabilityForm(mode, pts, s, false)
}
