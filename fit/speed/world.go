package speed

import (
	"fmt"
	"math"
	"math/rand/v2"

	"knee/data"
	"knee/internal/parallel"
)

// World returns the step times, in seconds, of one world that the posterior
// holds possible: parameters and process are drawn once, and stay the same for
// every configuration that is asked about. What a single run adds is left out.
// The same seed gives the same world. It fails like [Model.Predict].
//
// Of the process, what is left open between measurements is one variate for
// all configurations.
func (m *Model) World(seed int64) func(c data.Config) (float64, error) {
	d := rand.New(rand.NewPCG(uint64(seed), 0x776f726c64)).IntN(draws)
	return func(c data.Config) (float64, error) {
		q, err := m.ask(c)
		if err != nil {
			return 0, err
		}
		p, of := q.g.post, make([]float64, draws)
		process := p.spread(&q.p, nil, of)
		s := p.scales[d]
		return math.Exp(of[d] + math.Sqrt(s*s*process+q.further)*p.gauss[d]), nil
	}
}

// Draws returns ln step time (s) of configurations in every draw of the
// posterior, one slice per configuration, and the standard deviation of one run
// about it, what the process leaves open included. It fails like
// [Model.Predict].
func (m *Model) Draws(cs []data.Config) (ln [][]float64, sd []float64, err error) {
	ln, sd = make([][]float64, len(cs)), make([]float64, len(cs))
	err = parallel.Each(len(cs), 16, func() func(int) error {
		return func(i int) error {
			q, err := m.ask(cs[i])
			if err != nil {
				return fmt.Errorf("configuration %d: %w", i, err)
			}
			p := q.g.post
			ln[i] = make([]float64, draws)
			process := p.spread(&q.p, nil, ln[i])
			var scale float64 // mean square
			for _, s := range p.scales {
				scale += s * s / draws
			}
			sd[i] = math.Sqrt(scale*process + q.further + p.fresh*p.fresh)
			return nil
		}
	})
	return ln, sd, err
}
