package bayesopt

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"

	"knee/data"
)

// column turns one aspect of a configuration into a number. It reports false
// for a configuration the aspect is not defined for.
type column struct {
	name     string
	value    func(data.Config) (float64, bool)
	low      float64
	width    float64 // largest minus smallest value over the candidates
	constant bool
}

// encoder maps configurations to points of the unit cube. It is made for one
// set of candidates: columns that do not vary there are left out.
type encoder struct {
	columns []column // constant ones included, to recognise foreign configurations
	used    []int    // indices of the columns that make up a point
}

// newEncoder chooses and scales the columns and returns one point per
// candidate. Two candidates with equal points could never be told apart by
// what is learned, so they are an error that names both.
func newEncoder(cands []data.Config) (*encoder, [][]float64, error) {
	e := &encoder{columns: columnsFor(cands)}
	values := make([][]float64, len(e.columns))
	for k := range e.columns {
		v, err := e.columns[k].measure(cands)
		if err != nil {
			return nil, nil, err
		}
		values[k] = v
		if !e.columns[k].constant && !e.repeats(values, k) {
			e.used = append(e.used, k)
		}
	}
	points := make([][]float64, len(cands))
	for i := range cands {
		points[i] = make([]float64, len(e.used))
		for j, k := range e.used {
			points[i][j] = values[k][i]
		}
	}
	return e, points, distinct(cands, points)
}

// measure evaluates and scales the column over the candidates.
func (c *column) measure(cands []data.Config) ([]float64, error) {
	v := make([]float64, len(cands))
	lo, hi := math.Inf(1), math.Inf(-1)
	for i, cand := range cands {
		x, ok := c.value(cand)
		if !ok || math.IsNaN(x) || math.IsInf(x, 0) {
			return nil, &data.InputError{Source: data.Source{Column: c.name}, Found: "candidate without a usable value: " + cand.String(),
				Want: "the knob set, to a finite value, for every candidate or for none"}
		}
		v[i] = x
		lo, hi = min(lo, x), max(hi, x)
	}
	c.low, c.width = lo, hi-lo
	c.constant = !(c.width > 1e-12*max(math.Abs(lo), math.Abs(hi)))
	for i := range v {
		v[i] = c.scale(v[i])
	}
	return v, nil
}

func (c *column) scale(x float64) float64 {
	if c.constant {
		return 0
	}
	return (x - c.low) / c.width
}

// repeats reports whether column k says the same as an earlier column in use,
// as workers and workers per node do on a single node. A copy would only
// double the weight of that aspect in the distance.
func (e *encoder) repeats(values [][]float64, k int) bool {
	for _, u := range e.used {
		same := true
		for i := range values[k] {
			if math.Abs(values[k][i]-values[u][i]) > 1e-9 {
				same = false
				break
			}
		}
		if same {
			return true
		}
	}
	return false
}

// encode returns the point of a configuration that need not be a candidate.
// It reports false if the configuration differs from all candidates in an
// aspect that the points do not show: nothing learned there would apply here.
func (e *encoder) encode(c data.Config) ([]float64, bool) {
	x := make([]float64, 0, len(e.used))
	for k := range e.columns {
		col := &e.columns[k]
		v, ok := col.value(c)
		if !ok || math.IsNaN(v) || math.IsInf(v, 0) {
			return nil, false
		}
		if col.constant && math.Abs(v-col.low) > 1e-9*max(1, math.Abs(col.low)) {
			return nil, false
		}
		if slices.Contains(e.used, k) {
			x = append(x, col.scale(v))
		}
	}
	return x, true
}

// distinct reports the first two candidates with equal points. Placements that
// the columns do not tell apart, such as 4-1-1 and 1-4-1, are let through:
// they are as good as the same, and a table of what a cluster ran holds many.
func distinct(cands []data.Config, points [][]float64) error {
	seen := make(map[string]int, len(points))
	var key []byte
	for i, p := range points {
		key = key[:0]
		for _, v := range p {
			key = strconv.AppendInt(key, int64(math.Round(v*1e9)), 36)
			key = append(key, ',')
		}
		if j, ok := seen[string(key)]; ok && !placedAlike(cands[i], cands[j]) {
			return &data.InputError{Found: fmt.Sprintf("candidates %d (%s) and %d (%s) with equal features", j+1, cands[j], i+1, cands[i]),
				Want: "candidates that differ in a knob the model sees: drop one, or add the column that tells them apart"}
		}
		seen[string(key)] = i
	}
	return nil
}

// placedAlike reports whether two configurations differ in nothing but how
// equally many workers stand on equally many nodes.
func placedAlike(a, b data.Config) bool {
	if len(a.Placement) == 0 || a.NodeCount() != b.NodeCount() || slices.Equal(a.Placement, b.Placement) {
		return false
	}
	b.Placement, b.Nodes = a.Placement, a.Nodes
	return a.Key() == b.Key()
}

// columnsFor lists the columns for a set of candidates, in a fixed order.
func columnsFor(cands []data.Config) []column {
	number := func(name string, f func(data.Config) float64) column {
		return column{name: name, value: func(c data.Config) (float64, bool) { return f(c), true }}
	}
	cols := []column{
		number("workers", func(c data.Config) float64 { return math.Log2(float64(c.Workers)) }),
		number("workers_per_node", func(c data.Config) float64 { return math.Log2(float64(c.WidestNode())) }),
		number("nodes", func(c data.Config) float64 { return math.Log2(float64(c.NodeCount())) }),
		number("placement", func(c data.Config) float64 { return math.Log2(neighbours(c)) }),
		number("ps", func(c data.Config) float64 { return math.Log2(float64(1 + c.PS)) }),
		batchColumn(cands),
		number("accum_steps", func(c data.Config) float64 { return math.Log2(float64(1 + c.AccumSteps)) }),
	}
	cols = append(cols, oneHot("mode", cands, func(c data.Config) (string, bool) { return string(c.ModeOrDefault()), true })...)
	cols = append(cols, gpuColumns(cands)...)
	cols = append(cols, layoutColumns(cands)...)
	names := map[string]bool{}
	for _, c := range cands {
		for name := range c.Extra {
			names[name] = true
		}
	}
	machine := machineColumns(cands)
	if len(machine) > 0 {
		// Total cores take the place of workers: work is spread over cores.
		cols[0] = machine[0]
		cols = append(cols, machine[1:]...)
	}
	for _, name := range slices.Sorted(maps.Keys(names)) {
		if len(machine) > 0 && (name == coresKnob || name == memoryKnob) {
			continue
		}
		cols = append(cols, extraColumns(name, cands)...)
	}
	return cols
}

// Names of the knobs that describe one machine, as tables of cloud
// measurements have them.
const (
	coresKnob  = "vcpus"
	memoryKnob = "ram_gib"
)

// machineColumns are log2 of total cores, cores per machine, total memory and
// memory per core, where every candidate describes its machine. Times are
// smoother in these than in the raw numbers, whose effects are intertwined.
// Total memory follows from the others, but a data set that no longer fits the
// memory of all machines makes a cliff along it, and an axis of its own lets
// the kernel see that.
func machineColumns(cands []data.Config) []column {
	for _, c := range cands {
		_, cores := knob(c, coresKnob)
		if _, memory := knob(c, memoryKnob); !cores || !memory {
			return nil
		}
	}
	logarithm := func(name string, f func(workers, cores, memory float64) float64) column {
		return column{name: name, value: func(c data.Config) (float64, bool) {
			cores, _ := knob(c, coresKnob)
			memory, _ := knob(c, memoryKnob)
			v := f(float64(c.Workers), cores, memory)
			return math.Log2(v), positive(v)
		}}
	}
	return []column{
		logarithm("total_cores", func(workers, cores, _ float64) float64 { return workers * cores }),
		logarithm("x_"+coresKnob, func(_, cores, _ float64) float64 { return cores }),
		logarithm("total_memory", func(workers, _, memory float64) float64 { return workers * memory }),
		logarithm("memory_per_core", func(_, cores, memory float64) float64 { return memory / cores }),
	}
}

// layoutColumns are the parts of a training layout, degrees by log2 and words by
// their order, each of which does more of the same than the one before; and what
// follows from them: log2 of the model replicas, over which gradients are
// summed, and of the slots of the pipeline's schedule, micro-batches + pp − 1
// (Narayanan et al., SC'21, section 2.2).
func layoutColumns(cands []data.Config) []column {
	var cols []column
	for _, name := range data.LayoutNames() {
		words := data.LayoutWords(name)
		cols = append(cols, column{name: name, value: func(c data.Config) (float64, bool) {
			if words != nil {
				rank := slices.Index(words, c.Get(name))
				return float64(rank), rank >= 0
			}
			degree, err := strconv.Atoi(c.Get(name))
			return math.Log2(float64(degree)), err == nil
		}})
	}
	if !slices.ContainsFunc(cands, func(c data.Config) bool { return c.ModelParallel() > 1 }) {
		return cols
	}
	return append(cols,
		column{name: "replicas", value: func(c data.Config) (float64, bool) { return math.Log2(float64(c.Replicas())), c.Replicas() > 0 }},
		column{name: "slots", value: func(c data.Config) (float64, bool) { return math.Log2(float64(c.AccumSteps + max(c.PP, 1))), true }})
}

// knob returns a further knob of a configuration as a positive number.
func knob(c data.Config, name string) (float64, bool) {
	v, err := strconv.ParseFloat(c.Extra[name], 64)
	return v, err == nil && positive(v)
}

// neighbours returns the number of workers on the node of an average worker,
// which tells placements such as 4-2-2 and 3-3-2 apart.
func neighbours(c data.Config) float64 {
	if len(c.Placement) == 0 {
		return float64(c.WidestNode())
	}
	var s, n float64
	for _, w := range c.Placement {
		s += float64(w * w)
		n += float64(w)
	}
	return s / n
}

// batchColumn is log2 of the local batch. Where no candidate knows its batch
// the column is constant.
func batchColumn(cands []data.Config) column {
	known := slices.ContainsFunc(cands, func(c data.Config) bool { return c.LocalBatch > 0 })
	return column{name: "local_batch", value: func(c data.Config) (float64, bool) {
		if !known {
			return 0, c.LocalBatch == 0
		}
		return math.Log2(c.LocalBatch), c.LocalBatch > 0
	}}
}

// extraColumns models a further knob as a number if every candidate sets it to
// one, else as a category.
func extraColumns(name string, cands []data.Config) []column {
	lo := math.Inf(1)
	for _, c := range cands {
		v, err := strconv.ParseFloat(c.Extra[name], 64)
		if err != nil || math.IsNaN(v) || math.IsInf(v, 0) {
			return oneHot("x_"+name, cands, func(c data.Config) (string, bool) { s, ok := c.Extra[name]; return s, ok })
		}
		lo = min(lo, v)
	}
	logarithmic := lo > 0 // a ratio scale: 4 is to 2 as 2 is to 1
	return []column{{name: "x_" + name, value: func(c data.Config) (float64, bool) {
		v, err := strconv.ParseFloat(c.Extra[name], 64)
		if err != nil || logarithmic && v <= 0 {
			return 0, false
		}
		if logarithmic {
			return math.Log2(v), true
		}
		return v, true
	}}}
}

// oneHot gives each of k > 2 categories its own 0/1 column, two categories one
// column between them, and a single category a constant column.
func oneHot(name string, cands []data.Config, level func(data.Config) (string, bool)) []column {
	var levels []string
	for _, c := range cands {
		s, _ := level(c)
		if !slices.Contains(levels, s) {
			levels = append(levels, s)
		}
	}
	slices.Sort(levels)
	first := 0
	if len(levels) == 2 {
		first = 1
	}
	var cols []column
	for _, want := range levels[first:] {
		cols = append(cols, column{name: name, value: func(c data.Config) (float64, bool) {
			s, _ := level(c)
			if !slices.Contains(levels, s) {
				return 0, false
			}
			if s == want {
				return 1, true
			}
			return 0, true
		}})
	}
	return cols
}
