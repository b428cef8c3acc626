package speed

import (
	"math"
	"slices"

	"gonum.org/v1/gonum/blas/blas64"

	"knee/internal/gp"
)

// modeFile is the posterior of a group or of one of its members: its mode, and
// the proposals kept around it.
type modeFile struct {
	Share  float64  `json:"share"`            // posterior probability; for the group, the rest
	Absent []string `json:"absent,omitempty"` // coordinates of parts of the form that take no time
	assumption
	Size   sizes     `json:"size"`
	Z      []float64 `json:"z"`         // coordinates of the mode in prior standard deviations
	Misfit float64   `json:"misfit"`    // squared length of the residuals at the mode
	From   []int     `json:"proposals"` // proposals around the mode that are draws
	Status string    `json:"status,omitempty"`
}

func (g *group) toFile(share float64) modeFile {
	f := modeFile{Share: share, Absent: g.absent, assumption: g.assumed(), Size: g.size, Z: g.z, Status: g.status, From: g.post.from}
	if w, err := g.task.whiten(g.size.Scale, g.size.Noise); err == nil {
		f.Misfit = g.task.misfit(w, g.z)
	}
	return f
}

// misfit is the squared length of the residuals at z, prior included.
func (t *task) misfit(w *gp.Factor, z []float64) float64 {
	p := t.problem(w)
	r := make([]float64, p.Rows)
	p.Residuals(z, r)
	return blas64.Dot(vec(r), vec(r))
}

// resume restores the posterior of a prepared group from a file; false if the
// file has none, or one of other measurements or another prior.
func (g *group) resume(modes []modeFile, seed int64) bool {
	at := *g
	var whitened []*gp.Factor
	rest := 1.
	for i, f := range modes {
		m := *g
		w := m.resumeMode(f)
		if w == nil {
			return false
		}
		whitened = append(whitened, w)
		if i == 0 {
			at = m
			continue
		}
		if rest -= f.Share; !(f.Share > 0 && rest > -1e-9) {
			return false
		}
		at.members = append(at.members, member{&m, f.Share})
	}
	if len(modes) == 0 {
		return false
	}
	n := len(modes[0].From)
	if n != few && n != many {
		return false
	}
	dealt := at.deal(n)
	for i, m := range at.all() {
		from := modes[i].From
		if len(from) != n || i > 0 && dealt[i] == nil || slices.Min(from) < 0 || slices.Max(from) >= proposals {
			return false
		}
		var err error
		if m.post, err = newPosterior(m, whitened[i], g.seed(seed)); err != nil {
			return false
		}
		m.post.draw(m, g.seed(seed), from, dealt[i])
	}
	*g = at
	return true
}

// resumeMode restores sizes and mode; nil if they do not belong to the
// measurements.
func (g *group) resumeMode(f modeFile) *gp.Factor {
	if !f.Size.sound() {
		return nil
	}
	if f.Absent != nil || f.assumption != g.assumed() {
		m, err := g.like(f.assumption, f.Absent)
		if err != nil {
			return nil
		}
		*g = *m
	}
	weights := g.task.kernel.weights != nil
	if len(f.Z) != g.task.coords.len() || weights && len(f.Size.Weights) != len(g.knobs)+baseDims {
		return nil
	}
	g.size, g.z, g.status = f.Size, f.Z, f.Status
	if weights {
		g.task = g.weighted(g.size.Weights)
	}
	w, err := g.task.whiten(g.size.Scale, g.size.Noise)
	if err != nil {
		return nil
	}
	const rounding = 1e-9 // rounding of sums on other processors
	if m := g.task.misfit(w, g.z); !(math.Abs(m-f.Misfit) <= rounding*(1+f.Misfit)) {
		return nil
	}
	return w
}

// sound reports whether sizes read from a file are valid.
func (s *sizes) sound() bool {
	bad := func(v float64) bool { return !(v > 0 && v < math.MaxFloat32) }
	return !slices.ContainsFunc(slices.Concat(s.Weights, s.Scales, []float64{s.Scale, s.Noise}), bad) &&
		len(s.Scales) > 0 && len(s.Scales) == len(s.Chance) && !slices.ContainsFunc(s.Chance, func(v float64) bool { return !(v >= 0 && v <= 1) })
}
