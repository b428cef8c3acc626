package predict

import (
	"fmt"
	"math/rand/v2"
	"slices"

	"knee/data"
	"knee/internal/grouped"
)

// fold reports which measurements of a job are held out, by index: the
// measurements of all folds of tens of thousands would fill the memory.
type fold func(i int) bool

// foldsOf divides the measurements of one job; with [HeldOut] further ones are held out.
func foldsOf(rows []data.Measurement, s ValidationSettings) (folds []fold, warnings []string, err error) {
	switch s.Method {
	case HeldOut:
		return []fold{func(i int) bool { return i >= len(rows) }}, nil, nil
	case Forward:
		f, warnings := forward(rows)
		return []fold{f}, warnings, nil
	}
	configs, _ := grouped.By(rows, data.Measurement.Key)
	n := s.Folds
	switch {
	case len(configs) < 2:
		return nil, nil, data.Invalid("measurements", "1 configuration of "+rows[0].Job, "at least 2, to predict one from the other")
	case s.Method == LeaveOneOut:
		n = len(configs)
	case n == 0:
		n = min(DefaultFolds, len(configs))
	case n > len(configs):
		return nil, nil, data.Invalid("folds", fmt.Sprintf("%d folds of the %d configurations of %s", n, len(configs), rows[0].Job), "at most as many folds as configurations")
	}
	return deal(rows, n, s.Seed), nil, nil
}

// deal divides the configurations at random into n folds, those of every GPU
// type and mode as evenly as possible, so that few folds contain a whole group.
func deal(rows []data.Measurement, n int, seed int64) []fold {
	rng := rand.New(rand.NewPCG(uint64(seed), 0x666f6c64))
	of := map[string]int{} // fold of a configuration
	kinds, groups := grouped.By(rows, data.Measurement.Kind)
	for _, k := range kinds {
		configs, _ := grouped.By(groups[k], data.Measurement.Key)
		rng.Shuffle(len(configs), func(i, j int) { configs[i], configs[j] = configs[j], configs[i] })
		for _, c := range configs {
			of[c] = len(of) % n
		}
	}
	foldOf := make([]int, len(rows))
	for i, r := range rows {
		foldOf[i] = of[r.Key()]
	}
	folds := make([]fold, n)
	for f := range folds {
		folds[f] = func(i int) bool { return foldOf[i] == f }
	}
	return folds
}

// forward trains on the smaller half of the distinct worker counts of every GPU
// type and mode. A group of a single count only trains, with a warning.
func forward(rows []data.Measurement) (held fold, warnings []string) {
	kinds, groups := grouped.By(rows, data.Measurement.Kind)
	most := map[string]int{} // workers to train on
	for _, k := range kinds {
		var counts []int
		for _, r := range groups[k] {
			counts = append(counts, r.Workers)
		}
		slices.Sort(counts)
		counts = slices.Compact(counts)
		if most[k] = counts[(len(counts)-1)/2]; len(counts) == 1 {
			warnings = append(warnings, fmt.Sprintf("%s, %s: measured with %d workers only: no larger number to predict", rows[0].Job, k, counts[0]))
		}
	}
	return func(i int) bool { return rows[i].Workers > most[rows[i].Kind()] }, warnings
}
