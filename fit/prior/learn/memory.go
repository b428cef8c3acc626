package main

import (
	"path/filepath"

	"knee/data"
	"knee/fit/memory"
)

// learnMemory learns the prior of the memory model from measured peaks.
func learnMemory(dir string) error {
	var sources [][]data.Measurement
	for _, file := range []string{"sailor.csv", "bigscience.csv"} {
		ms, err := plain(filepath.Join(dir, "scaling", file))
		if err != nil {
			return err
		}
		sources = append(sources, ms)
	}
	p := memory.Learn(sources)
	p.Provenance = "learned by knee/fit/prior/learn -memory from measured peaks of Sailor (SOSP'25) and bigscience-workshop"
	return write("fit/memory/prior.json", p)
}
