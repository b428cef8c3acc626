package form

import (
	"math"

	"knee/data"
)

// usl is the Universal Scalability Law (Gunther, "Guerrilla Capacity Planning",
// 2007, chapter 4) for training. The law gives the speedup of k workers as k/(1
// + σ(k−1) + κk(k−1)). With a local batch b each worker has its own samples, so
// the law applies to samples per second and
//
//	T = (s+1)·(alpha + beta·b)·(1 + σ·(k−1) + κ·k·(k−1))
//
// with s accumulation steps and a time linear in the batch on one worker. In
// ps-async k updates take this time. Without coherency κ it is Amdahl's law
// ("Validity of the single processor approach to achieving large scale
// computing capabilities", AFIPS 1967): a share σ of the work is serial.
func usl(mode data.Mode, s Scale, coherency bool) Form {
	async, unit := mode == data.PSAsync, s.Time
	if async {
		unit = s.Step
	}
	f := &published{
		scale: s,
		parameters: []parameter{
			{"alpha", "s", positive(unit)}, {"beta", "s/sample", positive(unit / s.Batch)}, {"sigma", "", math.Exp},
		},
		starts: []map[string]float64{{"sigma": 2}, {"alpha": -2, "sigma": -2}, {"sigma": -4, "kappa": -4}},
	}
	if coherency {
		f.parameters = append(f.parameters, parameter{"kappa", "", math.Exp})
	}
	f.lnTimes = func(v []float64, p *Point) (step, compute float64) {
		compute = math.Log(v[0] + v[1]*p.Batch)
		more := v[2] * (p.Workers - 1)
		if coherency {
			more += v[3] * p.Workers * (p.Workers - 1)
		}
		step = compute + math.Log1p(p.Accum) + math.Log1p(more)
		if async {
			step -= p.LnWorkers
		}
		return step, compute
	}
	return f
}
