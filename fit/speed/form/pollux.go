package form

import "math"

// pollux is the throughput model of Pollux (OSDI'21, equations 8 to 11).
//
//	C = alpha_c + beta_c·b
//	S = alpha_n + beta_n·max(k−2, 0)   on several nodes
//	    alpha_r + beta_r·max(k−2, 0)   on one node, 0 for one worker
//	T = s·C + (C^γ + S^γ)^(1/γ)        γ from 1 to 10
func pollux(s Scale) Form {
	time := positive(s.Time)
	return &published{
		scale: s, lnTimes: polluxTimes,
		parameters: []parameter{
			{"alpha_c", "s", time}, {"beta_c", "s/sample", positive(s.Time / s.Batch)},
			{"alpha_n", "s", time}, {"beta_n", "s/worker", time},
			{"alpha_r", "s", time}, {"beta_r", "s/worker", time},
			{"gamma", "", func(x float64) float64 { return 1 + (mostOverlap-1)*logistic(x) }},
		},
		starts: []map[string]float64{{"alpha_c": 1, "beta_c": -2, "gamma": 2}, {"alpha_n": 2, "alpha_r": 2, "gamma": -1}},
	}
}

func polluxTimes(v []float64, p *Point) (step, compute float64) {
	lnCompute, gamma := math.Log(v[0]+v[1]*p.Batch), v[6]
	// The published implementation gives one worker this synchronisation time,
	// s, which keeps its logarithm finite.
	sync := 1e-8
	switch beyond := math.Max(p.Workers-2, 0); {
	case p.Nodes > 1:
		sync = v[2] + v[3]*beyond
	case p.Workers > 1:
		sync = v[4] + v[5]*beyond
	}
	step = logSumExp(gamma*lnCompute, gamma*math.Log(sync)) / gamma
	return logSumExp(math.Log(p.Accum)+lnCompute, step), lnCompute
}
