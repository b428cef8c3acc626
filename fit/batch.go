package fit

import (
	"fmt"
	"runtime"
	"sync"

	"knee/data"
)

// PredictAll predicts many configurations: the same numbers as [Model.Predict]
// in the same order, on all processors and with what they share computed
// once. It fails with the error of the first configuration that Predict
// refuses, and says which that is, counted from 0.
func (m *Model) PredictAll(cs []data.Config) ([]Prediction, error) {
	out := make([]Prediction, len(cs))
	workers := min(runtime.GOMAXPROCS(0), len(cs)/minShare+1)
	errs := make([]error, workers)
	var wg sync.WaitGroup
	for w := range workers {
		from, to := len(cs)*w/workers, len(cs)*(w+1)/workers
		wg.Go(func() { errs[w] = m.predictRange(cs, out, from, to) })
	}
	wg.Wait()
	for _, err := range errs { // the ranges ascend, so the first error is the first
		if err != nil {
			return nil, err
		}
	}
	return out, nil
}

// minShare is the fewest predictions worth a goroutine.
const minShare = 256

func (m *Model) predictRange(cs []data.Config, out []Prediction, from, to int) error {
	shared := map[*group]*memo{}
	for _, g := range m.groups {
		shared[g] = &memo{compute: map[float64][]float64{}, sync: map[[3]float64][]float64{}}
	}
	for i := from; i < to; i++ {
		var err error
		if out[i], err = m.predict(cs[i], shared); err != nil {
			return fmt.Errorf("configuration %d: %w", i, err)
		}
	}
	return nil
}

// separable is a curve whose step time joins a part that depends on the batch
// alone and one that depends on the placement alone.
type separable interface {
	curve
	lnCompute(p *point) float64
	lnWorst(p *point) float64
	join(p *point, compute, sync float64) float64
}

// memo holds both parts of all posterior draws, by batch and by placement: a
// sweep has few of each, and the parts are most of the work.
type memo struct {
	compute map[float64][]float64
	sync    map[[3]float64][]float64
}

// maxMemo bounds the entries of each table; beyond it the table starts anew.
const maxMemo = 1024

// addSteps adds ln step time of each curve to sum. A nil memo remembers nothing.
func (t *memo) addSteps(curves []curve, p *point, sum []float64) {
	if _, ok := curves[0].(separable); t == nil || !ok {
		for d, c := range curves {
			step, _ := c.logTimes(p)
			sum[d] += step
		}
		return
	}
	compute := remembered(t.compute, p.lnBatch, curves, func(c separable) float64 { return c.lnCompute(p) })
	sync := remembered(t.sync, [3]float64{p.workers, p.nodes, p.widest}, curves, func(c separable) float64 { return c.lnWorst(p) })
	for d, c := range curves {
		sum[d] += c.(separable).join(p, compute[d], sync[d])
	}
}

// remembered returns one part of all curves, from the table if it is there.
func remembered[K comparable](table map[K][]float64, key K, curves []curve, part func(separable) float64) []float64 {
	if v, ok := table[key]; ok {
		return v
	}
	if len(table) >= maxMemo {
		clear(table)
	}
	v := make([]float64, len(curves))
	for d, c := range curves {
		v[d] = part(c.(separable))
	}
	table[key] = v
	return v
}
