// Command learn learns the weights of the policy dl2 by policy gradient in the
// simulator and writes weights.json. BenchmarkScore prints how the embedded weights
// do, beside other policies, on worlds that nothing was learned from.
//
//	go run ./allocate/policy/dl2/learn -o allocate/policy/dl2/weights.json
package main

import (
	"encoding/json"
	"flag"
	"fmt"
	"log"
	"math"
	"math/rand/v2"
	"os"
	"slices"

	"gonum.org/v1/gonum/stat"

	"knee/allocate/policy"
	"knee/allocate/policy/dl2"
	"knee/allocate/simulate"
	"knee/internal/list"
	"knee/internal/parallel"
)

func main() {
	log.SetFlags(0)
	out := flag.String("o", "weights.json", "file to write the weights to")
	rounds := flag.Int("rounds", 2000, "worlds to learn from")
	seed := flag.Uint64("seed", 1, "seed of everything")
	flag.Parse()
	net, err := learn(*rounds, *seed)
	if err == nil {
		err = write(*out, net, fmt.Sprintf("go run ./allocate/policy/dl2/learn -rounds %d -seed %d", *rounds, *seed))
	}
	if err != nil {
		log.Fatal(err)
	}
}

func write(path string, net dl2.Net, command string) error {
	for _, unit := range net {
		for k := range unit {
			unit[k] = math.Round(unit[k]*1e4) / 1e4
		}
	}
	b, err := json.Marshal(dl2.File{Provenance: []string{command, "made-up worlds of the first two kinds of world.go; no measured data"}, Net: net})
	if err != nil {
		return err
	}
	return os.WriteFile(path, append(b, '\n'), 0o644)
}

// Williams' REINFORCE (Machine Learning 1992) with Adam (Kingma and Ba, ICLR
// 2015). Every world is replayed several times; what a decision is credited
// with is how many job-seconds follow it, fewer than in the other replays of
// that world.
const (
	replays = 8
	units   = 24
	rate    = 0.01
	entropy = 0.01 // keeps it trying, as in the paper
)

func learn(rounds int, seed uint64) (dl2.Net, error) {
	rng := rand.New(rand.NewPCG(seed, 0))
	net := dl2.Zero(units)
	for _, unit := range net {
		for k := range dl2.Features + 1 {
			unit[k] = rng.NormFloat64() / math.Sqrt(dl2.Features)
		}
	}
	var opt adam
	for round := range rounds {
		w := kinds()[round%2].draw(rng) // the first two are to learn from
		tried := make([]*replay, replays)
		err := parallel.Each(replays, 1, func() func(int) error {
			return func(i int) (err error) {
				tried[i], err = try(w, net, rand.New(rand.NewPCG(seed, uint64(1+round*replays+i))))
				return err
			}
		})
		if err != nil {
			return nil, err
		}
		opt.step(net, gradient(net, tried), rate*(1-float64(round)/float64(rounds)))
		if (round+1)%50 == 0 {
			log.Printf("%d worlds", round+1)
		}
	}
	return net, nil
}

// replay is one replay: the steps drawn, and the outcomes.
type replay struct {
	drawn    []drawn
	outcomes []simulate.Outcome
}

type drawn struct {
	at       float64
	features [][]float64
	shares   []float64 // probability of each
	chosen   int
}

func try(w world, net dl2.Net, rng *rand.Rand) (*replay, error) {
	r := &replay{}
	pick := func(now float64, features [][]float64, scores []float64) int {
		d := drawn{at: now, features: features, shares: softmax(scores)}
		for u := rng.Float64(); d.chosen < len(scores)-1; d.chosen++ {
			if u -= d.shares[d.chosen]; u < 0 {
				break
			}
		}
		r.drawn = append(r.drawn, d)
		return d.chosen
	}
	var err error
	r.outcomes, err = w.run(policy.DL2{Net: net, Pick: pick})
	return r, err
}

func softmax(scores []float64) []float64 {
	out, top, sum := make([]float64, len(scores)), slices.Max(scores), 0.0
	for i, v := range scores {
		out[i] = math.Exp(v - top)
		sum += out[i]
	}
	for i := range out {
		out[i] /= sum
	}
	return out
}

// toCome is the job-seconds from a time on.
func (r *replay) toCome(at float64) float64 {
	return list.Sum(r.outcomes, func(o simulate.Outcome) float64 { return max(0, o.End-max(at, o.Submit)) })
}

// gradient is that of the expected credit and of the entropy.
func gradient(net dl2.Net, tried []*replay) dl2.Net {
	g := dl2.Zero(len(net))
	var credits [][]float64
	var all []float64
	for _, r := range tried {
		var own []float64
		at, credit := math.NaN(), 0.0
		for _, d := range r.drawn {
			if d.at != at {
				at, credit = d.at, -r.toCome(d.at)
				for _, other := range tried {
					credit += other.toCome(at) / float64(len(tried))
				}
			}
			own = append(own, credit)
		}
		credits, all = append(credits, own), append(all, own...)
	}
	scale := 1 / (stat.StdDev(all, nil) + 1e-9) / float64(len(all))
	for i, r := range tried {
		for n, d := range r.drawn {
			h := 0.0
			for _, p := range d.shares {
				h -= p * math.Log(max(p, 1e-12))
			}
			for k, p := range d.shares {
				by := -p * credits[i][n] * scale
				if k == d.chosen {
					by += credits[i][n] * scale
				}
				by -= entropy * p * (math.Log(max(p, 1e-12)) + h) / float64(len(all))
				net.Derive(g, d.features[k], by)
			}
		}
	}
	return g
}

// adam climbs a gradient.
type adam struct {
	first, second dl2.Net
	t             float64
}

func (a *adam) step(net, g dl2.Net, rate float64) {
	if a.t++; a.first == nil {
		a.first, a.second = dl2.Zero(len(net)), dl2.Zero(len(net))
	}
	for u := range net {
		w, g, m, v := net[u], g[u], a.first[u], a.second[u]
		for k := range w {
			m[k] = 0.9*m[k] + 0.1*g[k]
			v[k] = 0.999*v[k] + 0.001*g[k]*g[k]
			w[k] += rate * m[k] / (1 - math.Pow(0.9, a.t)) / (math.Sqrt(v[k]/(1-math.Pow(0.999, a.t))) + 1e-8)
		}
	}
}
