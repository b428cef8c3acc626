package fit

// separable is a curve whose step time joins a part that depends on the batch
// and the width of the placement and one that depends on the placement alone,
// by their powers: two exponentials less per draw where many predictions share
// both parts.
type separable interface {
	curve
	lnCompute(p *point) float64
	computePower(lnCompute float64) float64
	syncPower(p *point) float64
	joinPowers(p *point, lnCompute, compute, sync float64) float64
}

// memo holds both parts of all posterior draws, by what they depend on: a
// sweep has few of each, and the parts are most of the work.
type memo struct {
	lnCompute, compute map[[2]float64][]float64
	sync               map[[3]float64][]float64
}

func newMemo() *memo {
	return &memo{lnCompute: map[[2]float64][]float64{}, compute: map[[2]float64][]float64{}, sync: map[[3]float64][]float64{}}
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
	of := [2]float64{p.lnBatch, p.widest}
	lnCompute := remembered(t.lnCompute, of, curves, func(_ int, c separable) float64 { return c.lnCompute(p) })
	compute := remembered(t.compute, of, curves, func(d int, c separable) float64 { return c.computePower(lnCompute[d]) })
	sync := remembered(t.sync, [3]float64{p.workers, p.nodes, p.widest}, curves, func(_ int, c separable) float64 { return c.syncPower(p) })
	for d, c := range curves {
		sum[d] += c.(separable).joinPowers(p, lnCompute[d], compute[d], sync[d])
	}
}

// remembered returns one part of all curves, from the table if it is there.
func remembered[K comparable](table map[K][]float64, key K, curves []curve, part func(int, separable) float64) []float64 {
	if v, ok := table[key]; ok {
		return v
	}
	if len(table) >= maxMemo {
		clear(table)
	}
	v := make([]float64, len(curves))
	for d, c := range curves {
		v[d] = part(d, c.(separable))
	}
	table[key] = v
	return v
}
