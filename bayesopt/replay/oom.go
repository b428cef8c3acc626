package replay

import (
	"math/rand/v2"
	"slices"
	"strconv"

	"knee/data"
)

// deathCharge is the share of a row's cost that is charged when it runs out of
// memory: it dies early, but its machines were started.
const deathCharge = 0.1

// WithMemoryLimit returns the table as it would be on machines with less
// memory: the rows that need the most, a share between 10 and 50 % that is
// drawn from the seed, run out of it (status oom) and are charged a tenth of
// their cost. What a row needs is its batch per worker, whatever the number of
// workers; in a table without batches it is what a row has, and the machines
// with the smallest ram_gib fail. A table with neither, or with a single value
// of it, has no such variant and is an error.
func (t *Table) WithMemoryLimit(seed int64) (*Table, error) {
	demand, err := t.memoryDemand()
	if err != nil {
		return nil, err
	}
	var able []float64
	for i, o := range t.Outcomes {
		if o.Status == data.OK {
			able = append(able, demand[i])
		}
	}
	slices.Sort(able)
	if len(able) == 0 || able[0] == able[len(able)-1] {
		return nil, &data.InputError{Source: data.Source{File: t.Name}, Found: "rows that all need as much memory", Want: "at least two batches, or two sizes of ram_gib, among the rows that succeed"}
	}
	share := 0.1 + 0.4*rand.New(rand.NewPCG(uint64(seed), 0)).Float64()
	limit := able[int((1-share)*float64(len(able)))]
	if limit == able[0] { // something has to fit
		limit = able[slices.IndexFunc(able, func(v float64) bool { return v > able[0] })]
	}
	out := *t
	out.Outcomes = slices.Clone(t.Outcomes)
	for i := range out.Outcomes {
		if demand[i] >= limit {
			out.Outcomes[i].Status = data.OOM
			out.Outcomes[i].Time *= deathCharge
			out.Outcomes[i].Cost *= deathCharge
		}
	}
	return &out, nil
}

// memoryDemand returns a number per row that grows with the memory it needs.
func (t *Table) memoryDemand() ([]float64, error) {
	demand := make([]float64, len(t.Candidates))
	for i, c := range t.Candidates {
		ram, err := strconv.ParseFloat(c.Extra["ram_gib"], 64)
		switch {
		case c.LocalBatch > 0:
			demand[i] = c.LocalBatch
		case err == nil && ram > 0:
			demand[i] = -ram
		default:
			return nil, &data.InputError{Source: data.Source{File: t.Name}, Found: "neither a batch nor ram_gib for " + c.String(),
				Want: "a column local_batch, global_batch or ram_gib to tell what runs out of memory"}
		}
	}
	return demand, nil
}
