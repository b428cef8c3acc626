package plots

import (
	"knee/data"
	"knee/predict"
)

// TypicalConfigs returns, for every GPU type and mode of a model, the
// configuration whose curve shows most of what was measured: the common
// batch, and of the measured numbers of ps the one whose best predicted
// throughput is highest.
func TypicalConfigs(p *predict.Predictor) ([]data.Config, error) {
	var out []data.Config
	for _, gpu := range p.Model.GPUTypes() {
		for _, mode := range p.Model.Modes(gpu) {
			c, err := typical(p, gpu, mode)
			if err != nil {
				return nil, err
			}
			out = append(out, c)
		}
	}
	return out, nil
}

func typical(p *predict.Predictor, gpu string, mode data.Mode) (data.Config, error) {
	workers, servers := predict.Sizes(p.Model, gpu, mode)
	base := data.Config{Job: p.Model.Job(), GPUType: gpu, Mode: mode, LocalBatch: CommonBatch(p.Model, gpu, mode)}
	best, highest := base, 0.0
	for _, ps := range servers {
		base.PS = ps
		answers, err := predict.Sweep(p, base, workers)
		if err != nil {
			return base, err
		}
		for _, a := range answers {
			if rate := 1 / a.StepTime.Mean; rate > highest {
				highest, best = rate, base
			}
		}
	}
	return best, nil
}
