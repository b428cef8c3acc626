package baseline

import (
	"cmp"
	"math"
	"math/rand/v2"
	"slices"

	"knee/internal/list"
)

// Sizes of the forest (Hutter, Hoos and Leyton-Brown 2011, section 4.1): leaves
// have at least leafSize responses, and a node considers five sixths of the
// columns. SMAC has ten trees; more cost little here.
const (
	forestTrees = 60
	leafSize    = 2
	columnShare = 5.0 / 6
)

// forest is a random forest of regression trees on bootstrap samples (Breiman 2001). The
// variance of a prediction is that of the trees' means plus the mean of the variances
// within their leaves (Hutter et al., "Algorithm runtime prediction", 2014, section 4.3.2).
type forest []*node

// node is a split, or a leaf where left is nil.
type node struct {
	column         int
	at             float64
	left, right    *node
	mean, variance float64
}

func newForest(x [][]float64, y []float64, rng *rand.Rand) (f forest) {
	for range forestTrees {
		rows := make([]int, len(x))
		for k := range rows {
			rows[k] = rng.IntN(len(x))
		}
		f = append(f, grow(x, y, rows, rng))
	}
	return f
}

// grow splits a node where the squared error decreases most, between values at random.
func grow(x [][]float64, y []float64, rows []int, rng *rand.Rand) *node {
	n := &node{}
	for _, r := range rows {
		n.mean += y[r] / float64(len(rows))
	}
	for _, r := range rows {
		n.variance += (y[r] - n.mean) * (y[r] - n.mean) / float64(len(rows))
	}
	gain, cut := 0.0, 0
	columns := rng.Perm(len(x[0]))
	for k, j := range columns {
		if cut > 0 && float64(k) >= columnShare*float64(len(columns)) {
			break // the other columns only if no cut was found
		}
		slices.SortFunc(rows, func(a, b int) int { return cmp.Compare(x[a][j], x[b][j]) })
		below := 0.0
		for i, r := range rows[:len(rows)-1] {
			below += y[r] - n.mean
			a, b := float64(i+1), float64(len(rows)-i-1)
			lo, hi := x[r][j], x[rows[i+1]][j]
			// Decrease of the squared error by two means: Σ_below²·(1/a + 1/b).
			if g := below * below * (1/a + 1/b); lo < hi && min(a, b) >= leafSize && g > gain {
				gain, cut, n.column, n.at = g, i+1, j, lo+rng.Float64()*(hi-lo)
			}
		}
	}
	if cut == 0 {
		return n
	}
	slices.SortFunc(rows, func(a, b int) int { return cmp.Compare(x[a][n.column], x[b][n.column]) })
	n.left, n.right = grow(x, y, slices.Clone(rows[:cut]), rng), grow(x, y, slices.Clone(rows[cut:]), rng)
	return n
}

// leaf returns the leaf a point falls into.
func (n *node) leaf(x []float64) *node {
	for n.left != nil {
		if x[n.column] <= n.at {
			n = n.left
		} else {
			n = n.right
		}
	}
	return n
}

// Predict implements surrogate.
func (f forest) Predict(x []float64) (mean, variance float64) {
	var square float64
	for _, t := range f {
		l := t.leaf(x)
		mean += l.mean
		square += l.mean*l.mean + l.variance
	}
	n := float64(len(f))
	mean /= n
	return mean, max(0, square/n-mean*mean)
}

// Sample implements surrogate: a normal draw from the leaf of a random tree.
func (f forest) Sample(points [][]float64, rng *rand.Rand) []float64 {
	t := f[rng.IntN(len(f))]
	return list.Map(points, func(x []float64) float64 {
		l := t.leaf(x)
		return l.mean + math.Sqrt(l.variance)*rng.NormFloat64()
	})
}
