package interference

import "math"

// Check is how well pairs are predicted that were left out.
type Check struct {
	Error, Rival float64 // mean of |predicted ÷ measured − 1|; the rival says the mean of all others
	Covered      float64 // share of rows in their interval of 90 %
	Rows         int     // of pairs that fit
}

// CrossValidate leaves a fifth of the pairs out at a time, both rows of each on
// every type.
func CrossValidate(rows []Row) Check {
	const folds = 5
	type pair struct{ a, b string }
	of := map[pair]int{}
	for _, r := range rows {
		k := pair{min(r.Job, r.Beside), max(r.Job, r.Beside)}
		if _, known := of[k]; !known {
			of[k] = len(of)
		}
	}
	var c Check
	for fold := range folds {
		var known, out []Row
		mean, n := 0.0, 0.0
		for _, r := range rows {
			switch left := of[pair{min(r.Job, r.Beside), max(r.Job, r.Beside)}]%folds == fold; {
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
