package bayesopt

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"

	"gonum.org/v1/gonum/floats"

	"knee/data"
	"knee/internal/list"
	"knee/internal/parallel"
)

// column maps one aspect of a configuration to a number, not finite if undefined.
type column struct {
	name     string
	value    func(data.Config) float64
	low      float64
	width    float64 // largest minus smallest value over the candidates
	constant bool
}

// encoder maps configurations to points of the unit cube, for one set of candidates.
type encoder struct {
	columns []column // of a point
	others  []column // constant or redundant, to detect configurations outside the space
}

// newEncoder chooses and scales the columns and returns one point per candidate. A column
// equal to an earlier one, such as workers per node on a single node, is left out, as it
// would double the weight of that aspect. It fails with a *data.InputError that names two
// candidates with equal points: the model cannot tell them apart.
func newEncoder(cands []data.Config) (*encoder, [][]float64, error) {
	e, points, columns := &encoder{}, make([][]float64, len(cands)), columnsFor(cands)
	measured := make([][]float64, len(columns))
	err := parallel.Each(len(columns), 1, func() func(int) error {
		return func(k int) (err error) {
			measured[k], err = columns[k].measure(cands)
			return err
		}
	})
	if err != nil {
		return nil, nil, err
	}
	var values [][]float64
	for k, c := range columns {
		v := measured[k]
		same := func(w []float64) bool {
			return slices.EqualFunc(v, w, func(a, b float64) bool { return math.Abs(a-b) <= 1e-9 })
		}
		if c.constant || slices.ContainsFunc(values, same) {
			e.others = append(e.others, c)
			continue
		}
		e.columns, values = append(e.columns, c), append(values, v)
		for i := range points {
			points[i] = append(points[i], v[i])
		}
	}
	return e, points, distinct(cands, points)
}

// measure evaluates and scales the column over the candidates.
func (c *column) measure(cands []data.Config) ([]float64, error) {
	v := make([]float64, len(cands))
	for i, cand := range cands {
		if v[i] = c.value(cand); !finite(v[i]) {
			return nil, &data.InputError{Source: data.Source{Column: c.name}, Found: "candidate without a usable value: " + cand.String(),
				Want: "the knob set, to a finite value, for every candidate or for none"}
		}
	}
	high := slices.Max(v)
	c.low = slices.Min(v)
	c.width = high - c.low
	c.constant = !(c.width > 1e-12*max(math.Abs(c.low), math.Abs(high)))
	for i := range v {
		v[i] = (v[i] - c.low) / c.width
	}
	return v, nil
}

func finite(v float64) bool { return !math.IsNaN(v) && !math.IsInf(v, 0) }

// encode returns the point of any configuration; false if it differs from all
// candidates in a constant column, where the model does not apply.
func (e *encoder) encode(c data.Config) (x []float64, ok bool) {
	for _, col := range e.others {
		if v := col.value(c); !finite(v) || col.constant && math.Abs(v-col.low) > 1e-9*max(1, math.Abs(col.low)) {
			return nil, false
		}
	}
	x = list.Map(e.columns, func(col column) float64 { return (col.value(c) - col.low) / col.width })
	return x, !slices.ContainsFunc(x, func(v float64) bool { return !finite(v) })
}

// ramped returns the columns of further knobs, and those of workers and nodes.
func (e *encoder) ramped() (knobs, sizes []int) {
	for j, c := range e.columns {
		if c.name == "workers" || c.name == "nodes" {
			sizes = append(sizes, j)
		} else if strings.HasPrefix(c.name, "x_") {
			knobs = append(knobs, j)
		}
	}
	return knobs, sizes
}

// distinct returns an error for the first two candidates with equal points, other than
// equivalent placements such as 4-1-1 and 1-4-1.
func distinct(cands []data.Config, points [][]float64) error {
	seen := make(map[string]int, len(points))
	var key []byte
	for i, p := range points {
		key = key[:0]
		for _, v := range p {
			key = append(strconv.AppendInt(key, int64(math.Round(v*1e9)), 36), ',')
		}
		if j, ok := seen[string(key)]; ok && (len(cands[i].Placement) == 0 || cands[i].Key() == cands[j].Key()) {
			return &data.InputError{Found: fmt.Sprintf("candidates %d (%s) and %d (%s) with equal features", j+1, cands[j], i+1, cands[i]),
				Want: "candidates that differ in a knob the model sees: drop one, or add the column that tells them apart"}
		}
		seen[string(key)] = i
	}
	return nil
}

// columnsFor returns the columns for a set of candidates, in a fixed order.
func columnsFor(cands []data.Config) []column {
	batches := slices.ContainsFunc(cands, func(c data.Config) bool { return c.LocalBatch > 0 })
	names := map[string]bool{}
	for _, c := range cands {
		for name := range c.Extra {
			names[name] = true
		}
	}
	// If cores are known, they replace the workers.
	cols := machineColumns(cands)
	if cols == nil {
		cols = []column{{name: "workers", value: func(c data.Config) float64 { return math.Log2(float64(c.Workers)) }}}
	} else {
		delete(names, coresKnob)
		delete(names, memoryKnob)
	}
	cols = append(cols,
		column{name: "workers_per_node", value: func(c data.Config) float64 { return math.Log2(float64(c.WidestNode())) }},
		column{name: "nodes", value: func(c data.Config) float64 { return math.Log2(float64(c.NodeCount())) }},
		column{name: "placement", value: func(c data.Config) float64 { return math.Log2(neighbours(c)) }},
		column{name: "ps", value: func(c data.Config) float64 { return math.Log2(float64(1 + c.PS)) }},
		column{name: "local_batch", value: func(c data.Config) float64 {
			if !batches && c.LocalBatch == 0 {
				return 0
			}
			return math.Log2(c.LocalBatch)
		}},
		column{name: "accum_steps", value: func(c data.Config) float64 { return math.Log2(float64(1 + c.AccumSteps)) }})
	cols = append(cols, oneHot("mode", cands, func(c data.Config) string { return string(c.ModeOrDefault()) })...)
	cols = append(cols, gpuColumns(cands)...)
	cols = append(cols, layoutColumns(cands)...)
	for _, name := range slices.Sorted(maps.Keys(names)) {
		cols = append(cols, extraColumns(name, cands)...)
	}
	return cols
}

// Knobs of one machine in tables of cloud measurements.
const (
	coresKnob  = "vcpus"
	memoryKnob = "ram_gib"
)

// machineColumns returns log2 of total cores, cores per machine, total memory and memory
// per core, if every candidate has them, else nil. Total memory follows from the others,
// but the kernel needs a column for it, as times jump where a data set exceeds it.
func machineColumns(cands []data.Config) []column {
	known := func(c data.Config) bool { return knob(c, coresKnob) > 0 && knob(c, memoryKnob) > 0 }
	if slices.ContainsFunc(cands, func(c data.Config) bool { return !known(c) }) {
		return nil
	}
	return []column{
		{name: "total_cores", value: func(c data.Config) float64 { return math.Log2(float64(c.Workers) * knob(c, coresKnob)) }},
		{name: "x_" + coresKnob, value: func(c data.Config) float64 { return math.Log2(knob(c, coresKnob)) }},
		{name: "total_memory", value: func(c data.Config) float64 { return math.Log2(float64(c.Workers) * knob(c, memoryKnob)) }},
		{name: "memory_per_core", value: func(c data.Config) float64 { return math.Log2(knob(c, memoryKnob) / knob(c, coresKnob)) }},
	}
}

// layoutColumns returns the parts of a training layout, degrees as log2 and words by rank,
// each with a stronger effect than the previous; and two derived columns: log2 of the model
// replicas, over which gradients are summed, and of the slots of the pipeline's schedule,
// micro-batches + pp − 1 (Narayanan et al., SC'21, section 2.2).
func layoutColumns(cands []data.Config) (cols []column) {
	for _, name := range data.LayoutNames() {
		words := data.LayoutWords(name)
		cols = append(cols, column{name: name, value: func(c data.Config) float64 {
			if rank := slices.Index(words, c.Get(name)); rank >= 0 {
				return float64(rank)
			}
			return math.Log2(number(c.Get(name)))
		}})
	}
	if !slices.ContainsFunc(cands, func(c data.Config) bool { return c.ModelParallel() > 1 }) {
		return cols
	}
	return append(cols,
		column{name: "replicas", value: func(c data.Config) float64 { return math.Log2(float64(c.Replicas())) }},
		column{name: "slots", value: func(c data.Config) float64 { return math.Log2(float64(c.AccumSteps + max(c.PP, 1))) }})
}

// number parses a number, NaN if invalid.
func number(s string) float64 {
	if v, err := strconv.ParseFloat(s, 64); err == nil {
		return v
	}
	return math.NaN()
}

// knob returns a further knob as a number, NaN if it is not one.
func knob(c data.Config, name string) float64 { return number(c.Extra[name]) }

// neighbours is the mean number of workers on the node of a worker: 4-2-2 is not 3-3-2.
func neighbours(c data.Config) float64 {
	if len(c.Placement) == 0 {
		return float64(c.WidestNode())
	}
	squares := list.Sum(c.Placement, func(w int) int { return w * w })
	return float64(squares) / float64(c.Placement.Workers())
}

// extraColumns models a further knob as a number if it is one for every
// candidate, by its logarithm if all are positive, else in units of its range; other
// knobs as categories.
func extraColumns(name string, cands []data.Config) []column {
	least, most := math.Inf(1), math.Inf(-1)
	for _, c := range cands {
		v := knob(c, name)
		if !finite(v) {
			return oneHot("x_"+name, cands, func(c data.Config) string { return c.Extra[name] })
		}
		least, most = min(least, v), max(most, v)
	}
	return []column{{name: "x_" + name, value: func(c data.Config) float64 {
		if least > 0 {
			return math.Log2(knob(c, name))
		}
		return (knob(c, name) - least) / cmp.Or(most-least, 1)
	}}}
}

// oneHot returns a 0/1 column for each category, but one for two.
func oneHot(name string, cands []data.Config, level func(data.Config) string) []column {
	levels := levelsOf(cands, level)
	if len(levels) == 2 {
		return indicators(name, level, levels, levels[1:])
	}
	return indicators(name, level, levels, levels)
}

// indicators returns a 0/1 column for each wanted level, undefined outside all levels.
func indicators(name string, level func(data.Config) string, all, wanted []string) (cols []column) {
	for _, want := range wanted {
		cols = append(cols, column{name: name, value: func(c data.Config) float64 {
			switch s := level(c); {
			case s == want:
				return 1
			case slices.Contains(all, s):
				return 0
			}
			return math.NaN()
		}})
	}
	return cols
}

// levelsOf returns the values of a category, sorted.
func levelsOf(cands []data.Config, level func(data.Config) string) []string {
	return slices.Compact(slices.Sorted(slices.Values(list.Map(cands, level))))
}

// gpuColumns describes the GPU type by log2 of speed, memory and memory bandwidth, so that
// measurements on one type inform about similar ones. A type unknown to [data.FindGPU] gets
// the mean of the known ones and a 0/1 column; a known type with the numbers of another
// gets that column too. With fewer than two distinct known types, every type is a category.
func gpuColumns(cands []data.Config) []column {
	typeOf := func(c data.Config) string { return c.GPUType }
	types, numbers := levelsOf(cands, typeOf), map[string][3]float64{}
	var distinct [][3]float64
	var sum [3]float64 // over the known types
	var own []string   // types with a 0/1 column
	for _, name := range types {
		g, ok := data.FindGPU(name)
		v := [3]float64{math.Log2(g.TFLOPS), math.Log2(g.Memory), math.Log2(g.Bandwidth)}
		if ok {
			numbers[name] = v
			floats.Add(sum[:], v[:])
		}
		if !ok || slices.Contains(distinct, v) {
			own = append(own, name)
		} else {
			distinct = append(distinct, v)
		}
	}
	if len(distinct) < 2 {
		return oneHot("gpu_type", cands, typeOf)
	}
	var cols []column
	for k, name := range []string{"gpu_tflops", "gpu_memory", "gpu_bandwidth"} {
		cols = append(cols, column{name: name, value: func(c data.Config) float64 {
			if v, ok := numbers[c.GPUType]; ok {
				return v[k]
			} else if slices.Contains(own, c.GPUType) {
				return sum[k] / float64(len(numbers))
			}
			return math.NaN()
		}})
	}
	return append(cols, indicators("gpu_type", typeOf, types, own)...)
}
