// Package dl2 is the network of the policy DL² (Peng et al., IEEE TPDS 2021) and its
// weights, learned in the simulator by the program in the folder learn.
package dl2

import (
	_ "embed"
	"encoding/json"
	"fmt"
	"math"
	"sync"

	"gonum.org/v1/gonum/floats"
)

// Features is the number of features of a step.
const Features = 11

// Net is a network of one hidden layer of hyperbolic tangents and one output: of each
// unit, a weight for every feature, a bias, and the weight of the unit in the output.
type Net [][]float64

// File is what weights.json holds.
type File struct {
	Provenance []string `json:"provenance"`
	Net        Net      `json:"net"`
}

//go:embed weights.json
var weights []byte

// Learned is the network of weights.json.
var Learned = sync.OnceValues(func() (Net, error) {
	var f File
	if err := json.Unmarshal(weights, &f); err != nil {
		return nil, fmt.Errorf("dl2: weights.json: %w", err)
	}
	for _, unit := range f.Net {
		if len(unit) != Features+2 {
			return nil, fmt.Errorf("dl2: a unit has %d weights, want %d", len(unit), Features+2)
		}
	}
	return f.Net, nil
})

// Zero has units without weights.
func Zero(units int) Net {
	n := make(Net, units)
	for u := range n {
		n[u] = make([]float64, Features+2)
	}
	return n
}

// Score is the output for the features of a step.
func (n Net) Score(features []float64) (score float64) {
	for _, unit := range n {
		score += unit[Features+1] * math.Tanh(input(unit, features))
	}
	return score
}

func input(unit, features []float64) float64 {
	sum := unit[Features]
	for k, x := range features {
		sum += unit[k] * x
	}
	return sum
}

// Derive adds by × the gradient of the score to gradient, of as many units.
func (n Net) Derive(gradient Net, features []float64, by float64) {
	for u, unit := range n {
		t := math.Tanh(input(unit, features))
		gradient[u][Features+1] += by * t
		in := by * unit[Features+1] * (1 - t*t)
		floats.AddScaled(gradient[u][:len(features)], in, features)
		gradient[u][Features] += in
	}
}
