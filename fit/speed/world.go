package speed

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"

	"knee/data"
	"knee/internal/parallel"
)

// World returns the step times, in seconds, of one draw of parameters and
// process, the same for every configuration, without the noise of a run. The
// same seed gives the same draw. It fails like [Model.Predict].
//
// The process's uncertainty between measurements is one variate for all
// configurations.
func (m *Model) World(seed int64) func(c data.Config) (float64, error) {
	at := rand.New(rand.NewPCG(uint64(seed), 0x776f726c64)).IntN(many)
	return func(c data.Config) (float64, error) {
		q, err := m.ask(c)
		if err != nil {
			return 0, err
		}
		d := at * len(q.g.post.from) / many
		for _, post := range q.g.posteriors() {
			i, ok := slices.BinarySearch(post.mine, d)
			if !ok {
				continue
			}
			of, process := make([]float64, len(post.curves)), make([]float64, len(post.nodes))
			post.spread(&q.p, nil, of, process)
			return math.Exp(of[post.which[i]] + math.Sqrt(process[post.nodeOf(post.from[d])]+q.further+q.tiers)*post.gauss[d]), nil
		}
		return 0, fmt.Errorf("draw %d of %d is missing", d, len(q.g.post.from))
	}
}

// Draws returns ln step time (s) of configurations in every draw of the
// posterior, one slice of the same length per configuration, and the variances
// about the draws of the process and of one run. A word or part of the layout that was
// never measured has one effect in each draw, whatever else a configuration has. Tiers of
// the network beyond the measured workers, which slow all alike, are left out. It fails
// like [Model.PredictAll].
func (m *Model) Draws(cs []data.Config) (ln [][]float64, process, run []float64, err error) {
	ln, process, run = make([][]float64, len(cs)), make([]float64, len(cs)), make([]float64, len(cs))
	most := 0
	for _, g := range m.groups {
		most = max(most, len(g.post.from))
	}
	err = parallel.Each(len(cs), 16, func() func(int) error {
		return func(i int) error {
			q, err := m.ask(cs[i])
			if err != nil {
				return fmt.Errorf("configuration %d: %w", i, err)
			}
			var s sampled
			s.sample(&q, &answering{})
			for _, e := range q.effects {
				for d, z := range e.variates(len(s.ln)) {
					s.ln[d] += math.Sqrt(e.variance) * z
					s.variance[d] = max(s.variance[d]-e.variance, 0)
				}
			}
			for range most / len(s.ln) {
				ln[i] = append(ln[i], s.ln...)
			}
			for d, v := range s.variance {
				process[i] += v / float64(len(s.ln))
				run[i] += sq(s.fresh[d]) / float64(len(s.ln))
			}
			return nil
		}
	})
	return ln, process, run, err
}
