package objective

import "math"

// jct is the objective for small job completion times: the weighted sum of logarithms of the
// jobs' speeds relative to their smallest allocation, plus 1 so that waiting has a value,
//
//	Σ_i w_i · ln(1 + f_i(c_i) / f_i(reference)),   w_i = weight_i / √T_i
//
// where T_i is the time, in hours, that job i would still need on its smallest allocation.
//
// Where all speed-ups are k^p the sum of completion times is smallest if job i has a share of
// the cluster that falls with its size (heSRPT, Berg et al., SIGMETRICS 2020). A sum of
// w_i · ln of speeds is greatest at shares in proportion to w_i, whatever p; one of w_i ·
// speeds gives the whole cluster to a few jobs as p nears 1.
//
// The sum of remaining times Σ Q_i / f_i (Optimus) favours the longest jobs, where a per cent
// is many seconds; weights of 1/T_i (shortest remaining time first) starve them. 1/√T_i is
// between.
var jct = Objective{
	Value: func(s Subject, o Outcome) float64 {
		t := s.remaining(s.Reference)
		if math.IsInf(t, 1) {
			return 0
		}
		// A minute at least, so that a job about to end does not outweigh all.
		w := s.Weight() / math.Sqrt(math.Max(t, 60)/3600)
		return w * math.Log1p(o.kept()*s.relative(o))
	},
	Idle: func(Subject) float64 { return 0 }, // no progress, no value
}
