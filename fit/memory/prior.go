package memory

import (
	_ "embed" // for prior.json
	"encoding/json"
	"math"
	"sync"

	"gonum.org/v1/gonum/stat"

	"knee/data"
	"knee/internal/grouped"
)

// Prior is the part of the prior that is learned from jobs of others.
type Prior struct {
	Provenance string   `json:"provenance,omitempty"`
	Overhead   Gaussian `json:"overhead"` // ln of memory held over memory counted
	Noise      Gaussian `json:"noise"`    // ln of the sd of ln peak memory
}

//go:embed prior.json
var priorFile []byte

// learned returns the embedded prior, written by fit/prior/learn -memory.
var learned = sync.OnceValue(func() Prior {
	var p Prior
	if err := json.Unmarshal(priorFile, &p); err != nil {
		panic("memory: prior.json: " + err.Error()) // embedded: a programmer error
	}
	return p
})

// open is the prior before learning: a factor of e either way on memory
// counted.
func open() Prior { return Prior{Overhead: Gaussian{0, 1}, Noise: Gaussian{math.Log(.05), 1}} }

// fits of each job average out that draws are random.
const fits = 16

// Learn returns the prior for a new source, given others. Each job of a source
// is fitted with the open prior; source means are normal, and their sum of
// squared deviations includes the variance of the open prior.
func Learn(sources [][]data.Measurement) Prior {
	p := open()
	var overheads, noises []float64
	for _, ms := range sources {
		var o, n float64
		names, jobs := byJob(ms)
		for _, name := range names {
			for seed := range int64(fits) {
				m := fitUnder(open().of, jobs[name], data.Architecture{}, seed)
				for _, x := range m.Draws {
					o += x[overhead] / float64(fits*len(m.Draws)*len(jobs))
					n += x[noise] / float64(fits*len(m.Draws)*len(jobs))
				}
			}
		}
		overheads, noises = append(overheads, o), append(noises, n)
	}
	p.Overhead, p.Noise = population(overheads, p.Overhead), population(noises, p.Noise)
	return p
}

func byJob(ms []data.Measurement) (names []string, jobs map[string][]data.Measurement) {
	return grouped.By(ms, func(m data.Measurement) string { return m.Job })
}

// population is the distribution of sources whose means are given.
func population(of []float64, before Gaussian) Gaussian {
	mean, variance := stat.PopMeanVariance(of, nil)
	return Gaussian{mean, math.Sqrt(variance + before.SD*before.SD/float64(len(of)))}
}
