package data

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"knee/internal/list"
)

type measurementReader struct {
	known   []string       // columns
	speed   speed          // the column that gives the step time; none if its name is empty
	others  []speed        // further columns that give it, for rows without the first
	layouts bool           // the table has a column tp or pp
	extra   map[string]int // position of the columns x_NAME, by NAME

	types         map[string]string // of gpu_type, by cell
	contradiction string            // the first row where another column means another step time; empty: none
}

// measurement reads what depends on several columns.
func (mr *measurementReader) measurement(r *Row, m *Measurement) {
	m.Source, m.Error = r.Source(), strings.Clone(oneLine(r.Cell("error")))
	mr.config(r, &m.Config)
	speed := mr.speedOf(r)
	m.Status = mr.status(r, speed.column)
	readStartedAt(r, m)
	if v := r.Number(speed.column, 0, speed.bounds); v > 0 {
		m.StepTime = speed.stepTime(v, m)
		if want := PositiveSeconds(); m.StepTime == 0 {
			r.Bad(speed.column, speed.needs)
		} else if !want.Holds(m.StepTime) {
			r.Bad(speed.column, "a rate of steps of "+want.String())
		}
	}
	if column, found, want := m.Layout.Check(m.Workers, m.ModeOrDefault(), m.Architecture); want != "" {
		r.Fail(column, found, want)
	}
	for _, other := range mr.others {
		v, ok := other.bounds.Parse(r.Cell(other.column))
		if !ok || m.StepTime == 0 || mr.contradiction != "" {
			continue
		}
		// Rounding stays below; a rate per worker, or of tokens, is off by a factor of two or more.
		if t := other.stepTime(v, m); t > 0 && math.Abs(math.Log(t/m.StepTime)) > math.Log(1.5) {
			mr.contradiction = fmt.Sprintf("%s: %s means a step time of %.3g s, %s of %.3g s, which is used", m.Source, other.column, t, speed.column, m.StepTime)
		}
	}
}

// speedOf returns the first column that gives the step time and is not empty in a row.
func (mr *measurementReader) speedOf(r *Row) speed {
	for _, s := range mr.others {
		if r.Cell(mr.speed.column) == "" && r.Cell(s.column) != "" {
			return s
		}
	}
	return mr.speed
}

// aboveMemory is a warning of a peak that the GPU cannot hold, empty if it can.
func (mr *measurementReader) aboveMemory(m *Measurement) string {
	const slack = 1.02 // of rounding, and of what a driver counts
	gpu, known := FindGPU(m.GPUType)
	switch {
	case m.GPUMemory > 0 && m.PeakMemory > slack*m.GPUMemory:
		return fmt.Sprintf("%s: peak_memory_bytes, %.4g GiB, is above gpu_memory_bytes, %.4g GiB: are both in one unit, and of one GPU?", m.Source, m.PeakMemory/(1<<30), m.GPUMemory/(1<<30))
	case m.GPUMemory > 0 || !known || m.PeakMemory <= gpu.Memory*(1<<30):
		return ""
	}
	return fmt.Sprintf("%s: peak_memory_bytes is above the %g GiB of %s; gpu_type names another card, or gpu_memory_bytes says what it has", m.Source, gpu.Memory, m.GPUType)
}

// status reads the status and checks that it agrees with the column of the speed.
func (mr *measurementReader) status(r *Row, speed string) Status {
	name, time := r.Cell("status"), r.Cell(speed)
	s := Status(strings.ToLower(name))
	if ended := endedElsewhere(string(s)); ended != "" {
		if s = ended; time != "" && s != Timeout {
			s = OK // a step time was measured, however the run ended
		}
	}
	switch hint, known := oneOf(string(s), names(Statuses())); {
	case s == "" && time != "":
		return OK
	case s == "":
		r.Fail("status", "neither status nor "+cmp.Or(speed, "step_time_s"), "one of them; --columns NAME=status names the column that says how a run ended")
	case !known:
		r.Fail("status", quote(name)+hint, "one of "+strings.Join(names(Statuses()), ", "))
	case s == OK && time == "":
		r.Fail(cmp.Or(speed, "step_time_s"), "nothing", PositiveSeconds().String()+", since status is "+name)
	case s != OK && s != Timeout && time != "": // a timeout's is a lower bound
		r.Bad(speed, "an empty cell, since status is "+name)
	}
	return Statuses()[max(0, slices.Index(Statuses(), s))]
}

// shardingElsewhere maps stages of ZeRO and strategies of FSDP, without hyphens.
var shardingElsewhere = map[string]string{
	"0": "none", "1": "zero1", "2": "zero2", "3": "zero3", "zero0": "none", "zero1": "zero1", "zero2": "zero2", "zero3": "zero3",
	"ddp": "none", "noshard": "none", "shardgradop": "zero2", "fullshard": "zero3", "fsdp": "zero3", "hybridshard": "hybrid", "hsdp": "hybrid",
}

// endedElsewhere is the status for a state of Weights & Biases, MLflow or Slurm, which cuts
// states as in OUT_OF_ME+ and adds words as in CANCELLED by 1000; empty for others.
func endedElsewhere(state string) Status {
	state, _, _ = strings.Cut(state, " by ")
	state, isCut := strings.CutSuffix(state, "+")
	for _, s := range []struct {
		name  string
		ended Status
	}{
		{"finished", OK}, {"completed", OK}, {"running", Aborted}, {"crashed", Failed}, {"killed", Aborted}, {"cancelled", Aborted}, {"out_of_memory", OOM},
		{"preempted", Aborted}, {"suspended", Aborted}, {"node_fail", Failed}, {"boot_fail", Failed}, {"deadline", Timeout}, {"pending", Queued},
	} {
		if state == s.name || isCut && state != "" && strings.HasPrefix(s.name, state) {
			return s.ended
		}
	}
	return ""
}

// config reads what depends on several columns.
func (mr *measurementReader) config(r *Row, c *Config) {
	c.GPUType = mr.gpuType(c.GPUType)
	if c.Job == "" {
		r.Fail("job", "nothing", "the name of what is trained")
	}
	readCounts(r, c)
	mode, column, found, want := checkMode(r.Cell("mode"), c.PS)
	if want != "" {
		r.Fail(column, found, want)
	}
	c.Mode = mode
	readAccumulation(r, c)
	mr.readLayout(r, c)
	if column, found, want := c.Layout.Check(c.Workers, c.ModeOrDefault(), Architecture{}); want != "" {
		r.Fail(column, found, want)
	}
	readLocalBatch(r, c)
	for knob, i := range mr.extra {
		if r.cells[i] == "" {
			continue
		}
		if c.Extra == nil {
			c.Extra = map[string]string{}
		}
		c.Extra[knob] = r.knob(extraPrefix + knob)
	}
}

// knob reads a word, or a number without the marks of the file: 0,5 in one with decimal commas.
func (r *Row) knob(column string) string {
	text := r.Text(column)
	if _, err := strconv.ParseFloat(strings.ReplaceAll(text, ",", "."), 64); err == nil {
		text = r.plainNumber(column, text)
	}
	return knobText(text)
}

// gpuType is [GPUTypeOf], once for each name in the table.
func (mr *measurementReader) gpuType(name string) string {
	if known, ok := mr.types[name]; ok {
		return known
	}
	mr.types[name] = GPUTypeOf(name)
	return mr.types[name]
}

// readCounts reads placement, nodes and workers, which must agree.
func readCounts(r *Row, c *Config) {
	placement, err := ParsePlacement(r.Cell("placement"))
	if err != nil || slices.ContainsFunc(placement, func(n int) bool { return n > maxCount }) || placement.Workers() > maxCount {
		r.Bad("placement", "workers per node, such as 4-4-2")
		return
	}
	c.Placement = placement
	if placement == nil {
		if r.Cell("workers") == "" {
			r.Fail("workers", "neither workers nor placement", "one of them")
		}
		if c.Nodes > c.Workers+c.PS {
			r.Fail("nodes", r.Cell("nodes"), fmt.Sprintf("at most one for each of %d workers and %d servers, all of the job", c.Workers, c.PS))
		}
		return
	}
	if c.Workers != 0 && c.Workers != placement.Workers() {
		r.Fail("workers", r.Cell("workers"), fmt.Sprintf("%d, the sum of placement %s", placement.Workers(), shorten(placement.String())))
	}
	if c.Nodes != 0 && c.Nodes != len(placement) {
		r.Fail("nodes", r.Cell("nodes"), fmt.Sprintf("%d, the nodes of placement %s", len(placement), shorten(placement.String())))
	}
	c.Workers, c.Nodes = placement.Workers(), len(placement)
}

// readLayout reads the layout. The column dp follows from it, and must agree.
func (mr *measurementReader) readLayout(r *Row, c *Config) {
	c.Layout.Unknown = mr.layouts && r.Cell("tp") == "" && r.Cell("pp") == "" && c.Workers > 1
	for _, name := range LayoutNames() {
		if cell := r.Cell(name); cell != "" {
			word := strings.TrimSuffix(strings.ToLower(cell), ".0")
			if name == "sharding" {
				word = cmp.Or(shardingElsewhere[strings.NewReplacer("-", "", "_", "").Replace(word)], word)
			}
			if want := c.Layout.Set(name, word); want != "" {
				r.Bad(name, want)
			}
		}
	}
	if dp := r.Whole("dp", 1); dp > 0 && dp*c.ModelParallel() != c.Workers {
		r.Fail("dp", r.Cell("dp"), fmt.Sprintf("workers / (tp × pp × cp), which is %s", formatFloat(float64(c.Workers)/float64(c.ModelParallel()))))
	}
}

// readAccumulation reads accum_steps (extra micro-steps) or micro_steps (all).
func readAccumulation(r *Row, c *Config) {
	n := r.Whole("micro_steps", 1)
	if n > 0 && r.Cell("accum_steps") != "" && c.AccumSteps != n-1 {
		r.Fail("micro_steps", r.Cell("micro_steps"), fmt.Sprintf("%d, one more than accum_steps", c.AccumSteps+1))
	}
	c.AccumSteps = max(c.AccumSteps, n-1)
}

func accumulationGiven(r *Row) bool {
	return r.Cell("accum_steps") != "" || r.Cell("micro_steps") != ""
}

// readLocalBatch reads either batch; of both without accumulation, that follows.
func readLocalBatch(r *Row, c *Config) {
	global := r.Number("global_batch", 0, Samples())
	if r.err != nil || global == 0 {
		return
	}
	if steps := global / (float64(c.Replicas()) * c.LocalBatch); c.LocalBatch > 0 && !accumulationGiven(r) && steps >= 1 && steps <= maxCount && steps == math.Trunc(steps) {
		c.AccumSteps = int(steps) - 1
	}
	micro := float64(c.Replicas()) * float64(c.AccumSteps+1)
	if c.LocalBatch == 0 {
		c.MicroUnknown = !c.Plain() && !accumulationGiven(r)
	} else if math.Abs(c.LocalBatch*micro-global) > 1e-3*max(c.LocalBatch*micro, global) { // local batches may have few digits
		multiple := ""
		if !accumulationGiven(r) {
			multiple = "a multiple of "
		}
		r.Fail("global_batch", r.Cell("global_batch"), fmt.Sprintf("%s%s, which is %s × local_batch × (accum_steps + 1)", multiple, formatFloat(c.LocalBatch*micro), replicasWord(*c)))
	}
	if c.LocalBatch = global / micro; !Samples().Holds(c.LocalBatch) {
		r.Bad("global_batch", fmt.Sprintf("%s for each of %d %s", Samples(), c.Replicas(), replicasWord(*c)))
	}
}

func replicasWord(c Config) string {
	if c.ModelParallel() > 1 {
		return "replicas"
	}
	return "workers"
}

// readStartedAt reads a time stamp in UTC, the same on every machine.
func readStartedAt(r *Row, m *Measurement) {
	cell := r.Cell("started_at")
	if cell == "" {
		return
	}
	at, err := time.Parse(time.RFC3339Nano, cell)
	if m.StartedAt = at.UTC(); err != nil || m.StartedAt.Year() < 1 || m.StartedAt.Year() > 9999 {
		r.Bad("started_at", "a time such as 2025-03-01T12:00:00Z (RFC 3339)")
	}
}

// checkMode checks a mode and the number of servers; want is empty if they agree.
func checkMode(name string, ps int) (mode Mode, column, found, want string) {
	mode = Mode(name)
	hint, known := oneOf(name, names(Modes()))
	switch {
	case name == "" && ps > 0:
		return mode, "mode", "nothing", fmt.Sprintf("ps-sync or ps-async, since ps is %d", ps)
	case name == "":
		return AllReduce, "", "", ""
	case !known:
		return mode, "mode", quote(name) + hint, "allreduce, ps-sync or ps-async"
	case mode.UsesPS() && ps < 1:
		return mode, "ps", strconv.Itoa(ps), "at least 1 parameter server, since mode is " + name
	case mode == AllReduce && ps > 0:
		return mode, "ps", strconv.Itoa(ps), "0, since mode allreduce has no parameter servers"
	}
	return mode, "", "", ""
}

func names[T ~string](values []T) []string {
	return list.Map(values, func(v T) string { return string(v) })
}

// oneLine replaces unprintable characters by blanks: logs hold colours and progress bars.
func oneLine(s string) string {
	s = strings.Map(func(c rune) rune {
		if !printable(string(c)) {
			return ' '
		}
		return c
	}, s)
	return strings.TrimSpace(s)
}

// formatCount writes a count, zero ("not known") as an empty cell.
func formatCount(n int) string {
	if n == 0 {
		return ""
	}
	return strconv.Itoa(n)
}

// UnitGap is the least factor between step times in different units, √1000: a worker's share
// of the work, or fewer workers, cost less.
const UnitGap = 31.6

// otherUnit is a warning of two rows in different units, empty if there are none: their step
// times differ by a factor nearer to 1000 than to 1, beyond the work of a worker, though only
// workers, placement and batch differ.
func otherUnit(ms []Measurement) string {
	type row struct {
		*Measurement
		kind string  // what the rows compared have in common
		work float64 // samples of a worker and step; without a batch, its share of a fixed one
	}
	least, most := math.Inf(1), 0.0
	for _, m := range ms {
		if m.Status == OK {
			least, most = min(least, m.StepTime), max(most, m.StepTime)
		}
	}
	if most/least < UnitGap { // as of nearly every table
		return ""
	}
	var rows []row
	for i := range ms {
		if ms[i].Status != OK {
			continue
		}
		c := ms[i].Config
		samples := c.LocalBatch * float64(c.AccumSteps+1)
		c.Workers, c.Nodes, c.Placement, c.PS, c.LocalBatch, c.AccumSteps = 0, 0, nil, 0, 0, 0
		rows = append(rows, row{&ms[i], fmt.Sprint(samples > 0, c.Key(), c.Architecture), cmp.Or(samples, 1/float64(ms[i].Workers))})
	}
	slices.SortFunc(rows, func(a, b row) int { return cmp.Or(cmp.Compare(a.kind, b.kind), cmp.Compare(a.StepTime, b.StepTime)) })
	for i := 1; i < len(rows); i++ {
		a, b := rows[i-1], rows[i]
		times := b.StepTime / a.StepTime
		if a.kind == b.kind && times/max(1, b.work/a.work) > UnitGap {
			return fmt.Sprintf("%s: a step of %s takes %.3g s, %.3g times that of line %d, %s: are both in one unit", b.Source, b.Config, b.StepTime, times, a.Source.Line, a.Config)
		}
	}
	return ""
}

// wordsAmongNumbers warns, for each job and knob, of the first value that is no number where
// other rows have numbers: it makes all of them words. Among numbers NaN is an error.
func wordsAmongNumbers(ms []Measurement) (warnings []string, err error) {
	type column struct{ job, knob string }
	type values struct {
		rows, numbers int
		word, nan     *InputError // the first of each
	}
	all, ofJob := map[column]*values{}, map[string]int{}
	for _, m := range ms {
		ofJob[m.Job]++
		for knob, text := range m.Extra {
			v := all[column{m.Job, knob}]
			if v == nil {
				v = &values{}
				all[column{m.Job, knob}] = v
			}
			v.rows++
			odd := &InputError{Source{m.Source.File, m.Source.Line, extraPrefix + knob}, quote(text), ""}
			switch x, err := strconv.ParseFloat(text, 64); {
			case math.IsNaN(x):
				v.nan = cmp.Or(v.nan, odd)
			case err != nil || math.IsInf(x, 0):
				v.word = cmp.Or(v.word, odd)
			default:
				v.numbers++
			}
		}
	}
	for _, at := range slices.SortedFunc(maps.Keys(all), func(a, b column) int { return cmp.Or(cmp.Compare(a.job, b.job), cmp.Compare(a.knob, b.knob)) }) {
		v := all[at]
		odd := cmp.Or(v.nan, v.word)
		if empty := ofJob[at.job] - v.rows; empty > 0 {
			odd = cmp.Or(odd, &InputError{Source{File: ms[0].Source.File, Column: extraPrefix + at.knob}, fmt.Sprintf("nothing in %d of %d rows of %s", empty, ofJob[at.job], at.job), ""})
		}
		if v.numbers == 0 || odd == nil {
			continue
		}
		if odd.Want = fmt.Sprintf("a number without a unit, as in %d of %d rows", v.numbers, ofJob[at.job]); odd == v.nan {
			return nil, odd
		}
		warnings = append(warnings, odd.Error()+"; with it all values of the knob are words, which have no order")
	}
	return warnings, nil
}
