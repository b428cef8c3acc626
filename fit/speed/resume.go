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
	Nodes  []int     `json:"nodes"`     // candidates around the mode of the sizes that are nodes
	From   []int     `json:"proposals"` // proposals around the mode that are draws
	Status string    `json:"status,omitempty"`
}

func (g *group) toFile(share float64) modeFile {
	return modeFile{Share: share, Absent: g.absent, assumption: g.assumed(), Size: g.size, Z: g.z, Status: g.status,
		Nodes: g.post.picked, From: g.post.from, Misfit: g.task.misfit(g.likeliest.lower, g.z)}
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
	rest := 1.
	for i, f := range modes {
		m := *g
		if !m.resumeMode(f) {
			return false
		}
		if i == 0 {
			at = m
			continue
		}
		if rest -= f.Share; !(f.Share > 0 && rest > -1e-9) {
			return false
		}
		at.members = append(at.members, member{group: &m, share: f.Share})
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
		if len(from) != n || i > 0 && dealt[i] == nil || slices.Min(from) < 0 || slices.Max(from) >= proposals(len(m.z)) {
			return false
		}
		var err error
		if m.post, err = newPosterior(m, g.seed(seed), modes[i].Nodes); err != nil {
			return false
		}
		m.post.draw(m, g.seed(seed), from, dealt[i])
	}
	*g = at
	return true
}

// resumeMode restores sizes and mode; false if they do not belong to the
// measurements.
func (g *group) resumeMode(f modeFile) bool {
	if f.Absent != nil || f.assumption != g.assumed() {
		m, err := g.like(f.assumption, f.Absent)
		if err != nil {
			return false
		}
		*g = *m
	}
	n := len(g.unmeasured())
	if len(f.Z) != g.task.coords.len() || len(f.Size.Mode) != n || len(f.Size.SD) != n {
		return false
	}
	g.size, g.z, g.status = f.Size, f.Z, f.Status
	if g.toMode() != nil {
		return false
	}
	const rounding = 1e-9 // rounding of sums on other processors
	return math.Abs(g.task.misfit(g.likeliest.lower, g.z)-f.Misfit) <= rounding*(1+f.Misfit)
}
