package predict

import (
	"fmt"
	"math/rand/v2"
	"slices"

	"knee/data"
)

// kind is a GPU type and mode, which a fit keeps apart.
type kind struct {
	gpuType string
	mode    data.Mode
}

func kindOf(c data.Config) kind { return kind{c.GPUType, c.ModeOrDefault()} }

// fold returns one division of the measurements of a job, made on demand: all
// folds of tens of thousands of measurements would fill the memory.
type fold func() (train, test []data.Measurement)

// foldOf returns the division into rows that held selects and the others.
func foldOf(rows []data.Measurement, held func(row int) bool) fold {
	return func() (train, test []data.Measurement) {
		for i, r := range rows {
			if held(i) {
				test = append(test, r)
			} else {
				train = append(train, r)
			}
		}
		return train, test
	}
}

// split divides the ok measurements of one job.
func split(rows, held []data.Measurement, m Method, s ValidationSettings) (folds []fold, warnings []string, err error) {
	switch m {
	case HeldOut:
		return []fold{func() (_, _ []data.Measurement) { return rows, held }}, nil, nil
	case Forward:
		f, warnings := forward(rows)
		return []fold{f}, warnings, nil
	}
	configs := 0
	seen := map[string]bool{}
	for _, r := range rows {
		if !seen[r.Key()] {
			seen[r.Key()] = true
			configs++
		}
	}
	n := s.Folds
	switch {
	case configs < 2:
		return nil, nil, &data.InputError{Source: data.Source{Column: "measurements"}, Found: "1 configuration of " + rows[0].Job, Want: "at least 2, to predict one from the other"}
	case m == LeaveOneOut:
		n = configs
	case n == 0:
		n = min(DefaultFolds, configs)
	case n > configs:
		return nil, nil, &data.InputError{Source: data.Source{Column: "folds"}, Found: fmt.Sprintf("%d folds of the %d configurations of %s", n, configs, rows[0].Job),
			Want: "at most as many folds as configurations"}
	}
	return deal(rows, n, s.Seed), nil, nil
}

// deal divides the configurations at random into n folds, those of every GPU
// type and mode as evenly as possible, so that few folds contain a whole group.
func deal(rows []data.Measurement, n int, seed int64) []fold {
	var kinds []kind
	keys := map[kind][]string{}
	known := map[string]bool{}
	keyOf := make([]string, len(rows))
	for i, r := range rows {
		keyOf[i] = r.Key()
		if k := kindOf(r.Config); !known[keyOf[i]] {
			known[keyOf[i]] = true
			if len(keys[k]) == 0 {
				kinds = append(kinds, k)
			}
			keys[k] = append(keys[k], keyOf[i])
		}
	}
	rng := rand.New(rand.NewPCG(uint64(seed), 0x666f6c64))
	of := map[string]int{}
	next := 0
	for _, k := range kinds {
		rng.Shuffle(len(keys[k]), func(i, j int) { keys[k][i], keys[k][j] = keys[k][j], keys[k][i] })
		for _, key := range keys[k] {
			of[key] = next % n
			next++
		}
	}
	folds := make([]fold, n)
	for f := range folds {
		folds[f] = foldOf(rows, func(i int) bool { return of[keyOf[i]] == f })
	}
	return folds
}

// forward trains on the smaller half of the distinct worker counts of every GPU
// type and mode. A group of a single count only trains, with a warning.
func forward(rows []data.Measurement) (fold, []string) {
	counts := map[kind][]int{}
	var kinds []kind
	for _, r := range rows {
		k := kindOf(r.Config)
		if counts[k] == nil {
			kinds = append(kinds, k)
		}
		if !slices.Contains(counts[k], r.Workers) {
			counts[k] = append(counts[k], r.Workers)
		}
	}
	var warnings []string
	for _, k := range kinds {
		slices.Sort(counts[k])
		if len(counts[k]) == 1 {
			warnings = append(warnings, fmt.Sprintf("%s, %s: measured with %d workers only: no larger number to predict",
				rows[0].Job, data.Config{GPUType: k.gpuType, Mode: k.mode}.Kind(), counts[k][0]))
		}
	}
	return foldOf(rows, func(i int) bool {
		c := counts[kindOf(rows[i].Config)]
		return rows[i].Workers > c[(len(c)-1)/2]
	}), warnings
}
