package plan

import (
	"sync"

	"knee/data"
	"knee/predict"
)

// Cache keeps predictions for later plans with other jobs or nodes. It is safe for
// concurrent use.
type Cache struct {
	known sync.Map // cacheKey to cached
}

type cacheKey struct {
	modelKey
	adapt       bool
	initial     float64
	gpuType     string
	mode        data.Mode
	placement   string
	ps, logical int
}

type cached struct {
	answer predict.Answer
	err    error
}

// answer predicts a shape at the batch that the job may use, once, or always if c is nil.
func (c *Cache) answer(job data.Job, o oracle, shape data.Config) (predict.Answer, error) {
	m, ok := o.(modelled)
	if c == nil || !ok || len(shape.Extra) > 0 {
		return answer(job, o, shape)
	}
	key := cacheKey{m.key(), job.Batch.Adapt, job.Batch.Initial, shape.GPUType, shape.Mode, shape.Placement.String(), shape.PS, job.LogicalWorkers}
	if known, ok := c.known.Load(key); ok {
		x := known.(cached)
		return x.answer, x.err
	}
	var x cached
	x.answer, x.err = answer(job, o, shape)
	c.known.Store(key, x)
	return x.answer, x.err
}
