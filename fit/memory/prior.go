package memory

import (
	_ "embed" // for prior.json
	"math"

	"knee/data"
	"knee/fit/prior"
	"knee/internal/grouped"
)

// Prior is the part of the prior that is learned from jobs of others.
type Prior struct {
	Provenance  string   `json:"provenance,omitempty"`
	Overhead    Gaussian `json:"overhead"`    // ln of memory held over memory counted
	Noise       Gaussian `json:"noise"`       // ln of the sd of ln peak memory
	Discrepancy Gaussian `json:"discrepancy"` // ln of the sd of exponents that the form lacks
}

//go:embed prior.json
var priorFile []byte

// learned returns the prior written by fit/prior/learn -memory.
var learned = prior.Embedded[Prior](priorFile)

// open is the prior before learning: a factor of e either way on memory counted, and
// exponents that are wrong by a hundredth to one, as of a square or of a constant.
func open() Prior {
	return Prior{Overhead: Gaussian{0, 1}, Noise: Gaussian{math.Log(.05), 1}, Discrepancy: between(.01, 1)}
}

// fits of each job average out that draws are random.
const fits = 16

// Learn returns the prior for a new source: mean and sd of draws of all others, each job
// fitted with the open prior, which counts as one source more.
func Learn(sources [][]data.Measurement) Prior {
	var sums, squares [coordinates]float64
	for _, ms := range sources {
		names, jobs := byJob(ms)
		for _, name := range names {
			for seed := range int64(fits) {
				m := fitUnder(open().of, jobs[name], data.Architecture{}, seed)
				for _, x := range m.Draws {
					for i, v := range x[:coordinates] {
						sums[i] += v / float64(fits*len(m.Draws)*len(jobs))
						squares[i] += v * v / float64(fits*len(m.Draws)*len(jobs))
					}
				}
			}
		}
	}
	population := func(coordinate int, before Gaussian) Gaussian {
		n := float64(len(sources))
		mean := sums[coordinate] / n
		return Gaussian{mean, math.Sqrt((squares[coordinate] - n*mean*mean + before.SD*before.SD) / (n + 1))}
	}
	p := open()
	p.Overhead, p.Noise = population(overhead, p.Overhead), population(noise, p.Noise)
	p.Discrepancy = population(discrepancy, p.Discrepancy)
	return p
}

func byJob(ms []data.Measurement) (names []string, jobs map[string][]data.Measurement) {
	return grouped.By(ms, func(m data.Measurement) string { return m.Job })
}
