package speed

import (
	"math"
	"slices"

	"gonum.org/v1/gonum/blas/blas64"
)

// modeFile is the mode of the posterior of a group or of one of its members,
// from which draws are made again.
type modeFile struct {
	Share  float64   `json:"share"`            // posterior probability; of the group itself, what the others leave
	Absent []string  `json:"absent,omitempty"` // coordinates of parts of the form that take no time
	Size   sizes     `json:"size"`
	Z      []float64 `json:"z"`      // coordinates of the mode in prior standard deviations
	Misfit float64   `json:"misfit"` // squared length of the residuals there
	Status string    `json:"status,omitempty"`
}

func (g *group) toFile(share float64) modeFile {
	f := modeFile{Share: share, Absent: g.absent, Size: g.size, Z: g.z, Status: g.status}
	if w, err := g.task.whiten(g.size.Scale, g.size.Noise); err == nil {
		f.Misfit = g.task.misfit(w, g.z)
	}
	return f
}

// misfit is the squared length of the residuals at z, prior included.
func (t *task) misfit(w *whitening, z []float64) float64 {
	p := t.problem(w)
	r := make([]float64, p.Rows)
	p.Residuals(z, r)
	return blas64.Dot(vec(r), vec(r))
}

// resume takes the posterior of a prepared group from a file; ok is false if
// the file has none, or one of other measurements or another prior.
func (g *group) resume(modes []modeFile, seed int64) (ok bool, err error) {
	if len(modes) == 0 {
		return false, nil
	}
	resumed := *g
	rest := 1.
	for i, f := range modes {
		at := *g
		if i == 0 {
			at = resumed
		} else if rest -= f.Share; !(f.Share > 0 && rest >= 0) {
			return false, nil
		}
		if ok, err := at.resumeMode(f, seed); !ok || err != nil {
			return false, err
		}
		if i == 0 {
			resumed = at
		} else {
			resumed.members = append(resumed.members, member{&at, f.Share})
		}
	}
	*g = resumed
	return true, nil
}

// resumeMode is resume for the group or a member alone.
func (g *group) resumeMode(f modeFile, seed int64) (ok bool, err error) {
	if !f.Size.sound() || !(f.Size.Unlike >= 0) {
		return false, nil
	}
	if f.Absent != nil || f.Size.Unlike != 0 {
		g.absent, g.size.Unlike = f.Absent, f.Size.Unlike
		if err := g.prepare(); err != nil {
			return false, err
		}
	}
	smooth, weights := g.task.kernel.smooth, g.task.kernel.weights
	if len(f.Z) != g.task.coords.len() || (weights != nil) && len(f.Size.Weights) != len(g.knobs)+baseDims || smooth && len(f.Size.Scales) == 1 {
		return false, nil
	}
	g.size, g.z, g.status = f.Size, f.Z, f.Status
	if weights != nil {
		g.task = g.weighted(g.size.Weights)
	}
	w, err := g.task.whiten(g.size.Scale, g.size.Noise)
	if err != nil {
		return false, nil
	}
	const rounding = 1e-6 // of sums on other processors
	if m := g.task.misfit(w, g.z); !(math.Abs(m-f.Misfit) <= rounding*(1+f.Misfit)) {
		return false, nil
	}
	return true, g.draw(w, seed)
}

// sound reports whether sizes read from a file can be what infer chose.
func (s *sizes) sound() bool {
	positive := func(v float64) bool { return v > 0 && v < math.MaxFloat32 }
	bad := func(v float64) bool { return !positive(v) }
	return positive(s.Scale) && positive(s.Noise) && len(s.Scales) > 0 && len(s.Scales) == len(s.Chance) &&
		!slices.ContainsFunc(slices.Concat(s.Weights, s.Scales), bad) && !slices.ContainsFunc(s.Chance, func(v float64) bool { return !(v >= 0 && v <= 1) })
}
