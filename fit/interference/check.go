package interference

import (
	"math"

	"knee/internal/grouped"
)

// Check is the accuracy of predictions of held-out pairs.
type Check struct {
	Error, Rival float64 // mean of |predicted ÷ measured − 1|; Rival predicts the mean share of the pairs fitted
	Covered      float64 // share (0..1) of rows within their 90 % interval
	Rows         int     // rows of pairs that fit in memory
}

// CrossValidate holds out a fifth of the pairs at a time, on every GPU type.
func CrossValidate(rows []Row) Check {
	const folds = 5
	pairOf := func(r Row) [2]string { return [2]string{min(r.Job, r.Beside), max(r.Job, r.Beside)} }
	pairs, _ := grouped.By(rows, pairOf)
	of := map[[2]string]int{}
	for i, p := range pairs {
		of[p] = i % folds
	}
	var c Check
	for fold := range folds {
		var known, out []Row
		mean, n := 0.0, 0.0
		for _, r := range rows {
			switch left := of[pairOf(r)] == fold; {
			case left && r.Share > 0:
				out = append(out, r)
			case !left:
				known = append(known, r)
				if r.Share > 0 {
					mean, n = mean+r.Share, n+1
				}
			}
		}
		if len(out) == 0 || n == 0 {
			continue
		}
		m := Fit(known)
		for _, r := range out {
			p := m.Predict(r).Share
			c.Rows++
			c.Error += math.Abs(p.Mean/r.Share - 1)
			c.Rival += math.Abs(mean/n/r.Share - 1)
			if p.Lo <= r.Share && r.Share <= p.Hi {
				c.Covered++
			}
		}
	}
	if n := float64(c.Rows); n > 0 {
		c.Error, c.Rival, c.Covered = c.Error/n, c.Rival/n, c.Covered/n
	}
	return c
}
