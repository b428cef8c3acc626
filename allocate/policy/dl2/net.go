// Package dl2 is the network of the policy DL² (Peng et al., IEEE TPDS 2021) and its
// weights, learned in the simulator by the program in the folder learn.
package dl2

import (
	_ "embed"
	"encoding/json"
	"fmt"
	"math"
	"math/rand/v2"
	"sync"
)

// Features is the number of features of a step.
const Features = 11

// Net is a network of one hidden layer of hyperbolic tangents and one output.
type Net struct {
	Hidden [][]float64 `json:"hidden"` // by unit: a weight of each feature, and a bias
	Out    []float64   `json:"out"`    // by unit
}

// File is what weights.json holds.
type File struct {
	Provenance []string `json:"provenance"`
	Net        Net      `json:"net"`
}

//go:embed weights.json
var weights []byte

// Learned is the network of weights.json.
var Learned = sync.OnceValues(func() (*Net, error) {
	var f File
	if err := json.Unmarshal(weights, &f); err != nil {
		return nil, fmt.Errorf("dl2: weights.json: %w", err)
	}
	return &f.Net, f.Net.check()
})

func (n *Net) check() error {
	if len(n.Hidden) != len(n.Out) {
		return fmt.Errorf("dl2: %d hidden units and %d output weights", len(n.Hidden), len(n.Out))
	}
	for _, row := range n.Hidden {
		if len(row) != Features+1 {
			return fmt.Errorf("dl2: a unit has %d weights, want %d", len(row), Features+1)
		}
	}
	return nil
}

// NewNet has small random weights.
func NewNet(units int, rng *rand.Rand) *Net {
	n := &Net{Out: make([]float64, units)}
	for range units {
		row := make([]float64, Features+1)
		for k := range row {
			row[k] = rng.NormFloat64() / math.Sqrt(Features)
		}
		n.Hidden = append(n.Hidden, row)
	}
	return n
}

// Score is the output for the features of a step.
func (n *Net) Score(features []float64) (score float64) {
	for u, row := range n.Hidden {
		score += n.Out[u] * math.Tanh(unit(row, features))
	}
	return score
}

func unit(row, features []float64) float64 {
	sum := row[len(features)]
	for k, x := range features {
		sum += row[k] * x
	}
	return sum
}

// Derive adds by × the gradient of the score to gradient, of the same shape.
func (n *Net) Derive(gradient *Net, features []float64, by float64) {
	for u, row := range n.Hidden {
		t := math.Tanh(unit(row, features))
		gradient.Out[u] += by * t
		in := by * n.Out[u] * (1 - t*t)
		for k, x := range features {
			gradient.Hidden[u][k] += in * x
		}
		gradient.Hidden[u][len(features)] += in
	}
}
