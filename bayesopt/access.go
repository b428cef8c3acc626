package bayesopt

import (
	"math"
	"math/rand/v2"

	"gonum.org/v1/gonum/mat"
	"gonum.org/v1/gonum/stat/distmv"
	"gonum.org/v1/gonum/stat/samplemv"

	"knee/data"
)

// Open returns the indices of the candidates neither tried, running nor barred.
func (p *Problem) Open() []int {
	var out []int
	for i, s := range p.standing {
		if s == open {
			out = append(out, i)
		}
	}
	return out
}

// Rand returns a random source for this decision.
func (p *Problem) Rand() *rand.Rand { return NewRand(p.Options.Seed, p.Trials) }

// Objectives returns the points and objectives of the trials of candidates;
// maximised objectives are negated, so smaller is better. A trial without an
// objective gets the worst of the others. Without any objective it returns one
// point with value 0, so that a model can be fitted.
func (p *Problem) Objectives() (x [][]float64, y []float64) {
	worst := math.Inf(-1)
	for _, m := range p.History.Measured {
		i, ok := p.index[m.Key()]
		if !ok || m.Status == data.Aborted {
			continue
		}
		v := math.Inf(1)
		if m.Status == data.OK {
			v = p.Options.Objective.natural(math.Log(m.StepTime) + p.offset[i])
			if p.Options.Objective.Maximised() {
				v = -v
			}
			worst = max(worst, v)
		}
		x, y = append(x, p.Points[i]), append(y, v)
	}
	if math.IsInf(worst, -1) {
		return [][]float64{p.Points[0]}, []float64{0}
	}
	for k := range y {
		y[k] = min(y[k], worst)
	}
	return x, y
}

// Best returns the position of the candidate with the highest score; ties are
// broken by seed.
func (p *Problem) Best(candidates []int, scores []float64) int {
	best := 0
	for k, i := range candidates {
		if scores[k] > scores[best] || scores[k] == scores[best] && p.priority(i) > p.priority(candidates[best]) {
			best = k
		}
	}
	return best
}

// QuasiRandom returns the n-th point of Halton's sequence in the unit cube of d
// dimensions, scrambled by the seed (Owen 2017).
func QuasiRandom(d int, seed int64, n int) []float64 {
	if d == 0 {
		return nil
	}
	points := mat.NewDense(n+1, d, nil)
	samplemv.Halton{Kind: samplemv.Owen, Q: distmv.NewUnitUniform(d, nil), Src: NewRand(seed, 0)}.Sample(points)
	return points.RawRowView(n)
}
