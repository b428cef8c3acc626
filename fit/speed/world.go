package speed

import (
	"math"
	"math/rand/v2"

	"knee/data"
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
