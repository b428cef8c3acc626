package plan

import (
	"knee/data"
	"knee/fit"
	"knee/predict"
)

// batches remembers which batch is best on a shape. Of everything that is
// predicted this takes longest, as it is searched for, and it is the same for
// all jobs of one model and one range of batches, whatever they have left to
// do. It must not be used by two goroutines at once.
type batches map[batchKey]batchFound

type batchKey struct {
	model     *fit.Model
	batch     data.Batch
	gpuType   string
	mode      data.Mode
	placement string
	ps        int
}

type batchFound struct {
	config data.Config
	err    error
}

// BestBatch implements oracle.
func (m modelled) BestBatch(c data.Config) (predict.Answer, error) {
	if m.known == nil || len(c.Placement) == 0 || len(c.Extra) > 0 {
		return m.Predictor.BestBatch(c)
	}
	key := batchKey{m.Model, m.Batch, c.GPUType, c.Mode, c.Placement.String(), c.PS}
	if f, ok := m.known[key]; ok {
		if f.err != nil {
			return predict.Answer{}, f.err
		}
		return m.At(f.config)
	}
	a, err := m.Predictor.BestBatch(c)
	m.known[key] = batchFound{a.Config, err}
	return a, err
}
