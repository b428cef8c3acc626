package data

import (
	"cmp"
	"fmt"
	"io"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"

	"github.com/dustin/go-humanize/english"

	"knee/internal/list"
)

// extraPrefix marks the columns of further knobs in measurements.csv.
const extraPrefix = "x_"

// Import says how to read measurements of other programs; zero reads knee's own.
type Import struct {
	// Columns maps columns of the file to those of measurements.csv.
	Columns map[string]string
	// Given are cells of columns that the file lacks, such as the job.
	Given map[string]string
	// Repeats bounds the rows of a configuration and status, chosen at random; 0 keeps all.
	Repeats int
}

// sample is a random choice of each configuration's rows (Vitter 1985, algorithm R).
type sample struct {
	most, left int // most rows per configuration; number of rows left out
	rows       []Measurement
	seen       map[string]int
	at         map[string][]int // positions in rows
	draw       *rand.Rand
}

func (s *sample) add(m Measurement) {
	if s.most == 0 {
		s.rows = append(s.rows, m)
		return
	}
	key := fmt.Sprint(m.Key(), m.Architecture, m.Status)
	s.seen[key]++
	switch i := s.draw.IntN(s.seen[key]); {
	case s.seen[key] <= s.most:
		s.at[key], s.rows = append(s.at[key], len(s.rows)), append(s.rows, m)
		return
	case i < s.most:
		s.rows[s.at[key][i]] = m
	}
	s.left++
}

// ReadMeasurements reads measurements.csv, see [Import.Read]; name is the file in errors.
func ReadMeasurements(r io.Reader, name string) (ms []Measurement, warnings []string, err error) {
	return Import{}.Read(r, name)
}

// LoadMeasurements is [ReadMeasurements] of the file at path, see [Open].
func LoadMeasurements(path string) (ms []Measurement, warnings []string, err error) {
	return LoadTable(path, ReadMeasurements)
}

// Read reads measurements.
//
// Missing counts are derived: nodes and workers from the placement, the local batch from the
// global batch. Redundant ones must agree. Without step_time_s the step time follows from
// step_time_ms, steps_per_s, throughput (samples/s; needs a batch) or tokens_per_s (needs a batch
// and seq_len); the last two with the prefix worker_ are per worker. A warning names the first
// row in which two of them contradict each other. Cells may carry a unit ("78.6 ms"). GPU types
// become lower case. Unknown columns give one warning, and so do rows without a batch; columns
// x_<name> become [Config.Extra]. The error joins an [*InputError] for each of the first five
// wrong rows and counts the others.
func (im Import) Read(r io.Reader, name string) (ms []Measurement, warnings []string, err error) {
	t, err := NewTable(r, name)
	if err != nil {
		return nil, nil, err
	}
	mr, err := im.reader(t)
	if err != nil {
		return nil, nil, err
	}
	slowSync, noBatch, noType, doubtful, above, doubt, rows := 0, 0, 0, 0, "", "", 0
	kept := &sample{most: im.Repeats, seen: map[string]int{}, at: map[string][]int{}, draw: rand.New(rand.NewPCG(1, 1))} // the same file gives the same rows
	err = EachOf(t, func(row *Row, m *Measurement) error {
		mr.measurement(row, m)
		if m.Status == OK && m.SyncTime > m.StepTime {
			slowSync++
		}
		if m.Status == OK && m.LocalBatch == 0 {
			noBatch++
		}
		if m.GPUType == "" {
			noType++
		}
		if m.Status == OK && m.Error != "" {
			doubtful++
			doubt = cmp.Or(doubt, fmt.Sprintf("%s: %s", m.Source, m.Error))
		}
		if m.PeakMemory > 0 && above == "" {
			above = mr.aboveMemory(m)
		}
		rows++
		kept.add(*m)
		return nil
	})
	if err != nil {
		return nil, nil, err
	}
	words, err := wordsAmongNumbers(kept.rows)
	if err != nil {
		return nil, nil, err
	}
	warnings = append(warnings, words...)
	for _, unknown := range t.Unknown(mr.known, isExtraColumn) {
		warnings = append(warnings, unknown+"; --columns NAME=COLUMN reads one as another column, and one called x_NAME counts for the speed")
	}
	if kept.left > 0 {
		warnings = append(warnings, fmt.Sprintf("%s: of %d rows %d are used, at most %d of each configuration, chosen at random", name, rows, len(kept.rows), im.Repeats))
	}
	if slowSync > 0 {
		// No error: measured separately, sync time may exceed step time by noise.
		warnings = append(warnings, fmt.Sprintf("%s: sync_time_s exceeds step_time_s in %d of %d rows", name, slowSync, rows))
	}
	if doubtful > 1 {
		doubt += fmt.Sprintf(" (and %s)", english.Plural(doubtful-1, "row more", "rows more"))
	}
	for _, first := range []string{doubt, above, mr.contradiction, otherUnit(kept.rows)} {
		if first != "" {
			warnings = append(warnings, first)
		}
	}
	if noType > 0 && noType < rows {
		warnings = append(warnings, fmt.Sprintf("%s: %d of %d rows have no gpu_type; they count as one type more", name, noType, rows))
	}
	switch {
	case noBatch == rows:
		// No row has a batch: predictions are step times.
	case noBatch > 0:
		warnings = append(warnings, fmt.Sprintf("%s: %d of %d rows have neither local_batch nor global_batch; the typical batch of the others is assumed", name, noBatch, rows))
	}
	return kept.rows, warnings, nil
}

// reader checks the header for required columns.
func (im Import) reader(t *Table) (*measurementReader, error) {
	mr := &measurementReader{types: map[string]string{}, known: measurementColumnNames()}
	if err := im.checkTargets(mr.known); err != nil {
		return mr, err
	}
	if err := t.Rename(im.Columns); err != nil {
		return mr, err
	}
	for _, column := range slices.Sorted(maps.Keys(im.Given)) {
		switch cell := im.Given[column]; {
		case cell == "" || column == "job" && t.Has(column): // not given, or the file has the column
		case t.Has(column):
			return mr, t.fail(1, column, "the column, and "+quote(cell)+" for all rows", "one of them")
		default:
			t.given[column] = cell
		}
	}
	if t.Has("step_time_lo_s", "throughput_lo") {
		return mr, t.fail(1, "", "the interval of a prediction", "measurements: what knee predicted was not measured")
	}
	if !t.Has("job") {
		return mr, t.Missing("job", "a column job, or --job NAME (of knee read or fit)")
	}
	if !t.Has("workers", "placement") {
		return mr, t.Missing("workers", "a column workers or placement, or --columns NAME=workers (of knee read or fit)")
	}
	for _, s := range speeds() {
		switch {
		case !t.Has(s.column):
			continue
		case mr.speed.column == "":
			mr.speed = s
		default:
			mr.others = append(mr.others, s)
		}
		mr.known = append(mr.known, s.column)
	}
	if mr.speed.column == "" && !t.Has("status") {
		return mr, t.Missing("step_time_s", "a column "+strings.Join(SpeedColumns(), ", ")+", or status if no trial succeeded")
	}
	mr.extra, mr.layouts = extraColumns(t.Header), t.Has("tp", "pp")
	return mr, nil
}

// checkTargets fails for renaming a column to an unknown one, or tokens to samples.
func (im Import) checkTargets(known []string) error {
	known = append(known, SpeedColumns()[1:]...) // the first is a column of measurements.csv
	for _, from := range slices.Sorted(maps.Keys(im.Columns)) {
		to := im.Columns[from]
		bad := &InputError{Source: Source{Column: "--columns"}, Found: quote(from + "=" + to)}
		if hint, ok := oneOf(to, known); !ok && !isExtraColumn(to) {
			bad.Want = "a column of measurements.csv" + hint + ": " + strings.Join(known, ", ") + ", or x_NAME for a further knob"
			return bad
		}
		if strings.HasSuffix(to, "throughput") && strings.Contains(strings.ToLower(from), "tok") {
			bad.Want = strings.Replace(to, "throughput", "tokens_per_s", 1) + wantSeqLen + ": throughput counts samples"
			return bad
		}
		if to == "accum_steps" && strings.Contains(strings.ToLower(from), "accum") {
			bad.Want = "micro_steps where 1 means no accumulation, as in most programs: accum_steps are the extra ones, from 0"
			return bad
		}
	}
	return nil
}

// wantSeqLen is what a column of tokens needs in addition.
const wantSeqLen = ", with seq_len, the tokens of a sample (1 where batches count tokens)"

// speed is a column that gives the step time.
type speed struct {
	column string
	bounds Bounds
	// stepTime returns the seconds of a step from the cell v; 0 if m lacks what it needs.
	stepTime func(v float64, m *Measurement) float64
	needs    string // what the column needs in addition, for messages
}

// speeds are the columns that give the step time; the first in a file is used.
func speeds() []speed {
	ms := PositiveSeconds()
	ms.What, ms.Min, ms.Max, ms.units = "milliseconds", 1e3*ms.Min, 1e3*ms.Max, nil
	steps := Positive("steps/s")
	steps.units = units{"/s": 1, "steps/s": 1, "it/s": 1, "steps/sec": 1}
	rate := Positive("samples/s")
	rate.Want = "samples/s > 0; of tokens/s the column is tokens_per_s"
	rate.units = units{"/s": 1, "samples/s": 1, "sample/s": 1, "images/s": 1, "images/sec": 1, "img/s": 1, "img/sec": 1}
	tokens := Positive("tokens/s")
	tokens.units = units{"/s": 1, "tokens/s": 1, "tok/s": 1, "tokens/sec": 1, "tok/sec": 1, "tokens/s/gpu": 1, "tok/s/gpu": 1, "tokens/s/GPU": 1, "tok/s/GPU": 1}
	const batch = "a local_batch or global_batch too, from which the step time follows (knee read --local-batch gives one for all rows)"
	all := []speed{
		{"step_time_s", PositiveSeconds(), func(v float64, _ *Measurement) float64 { return v }, ""},
		{"step_time_ms", ms, func(v float64, _ *Measurement) float64 { return v / 1000 }, ""},
		{"steps_per_s", steps, func(v float64, _ *Measurement) float64 { return 1 / v }, ""},
		{"throughput", rate, func(v float64, m *Measurement) float64 { return m.SamplesPerStep() / v }, batch},
		{"tokens_per_s", tokens, func(v float64, m *Measurement) float64 {
			return m.SamplesPerStep() * float64(m.Architecture.SeqLen) / v
		}, batch + wantSeqLen},
	}
	for _, s := range all[3:] {
		all = append(all, speed{"worker_" + s.column, s.bounds, func(v float64, m *Measurement) float64 { return s.stepTime(v*float64(m.Workers), m) }, s.needs})
	}
	return all
}

// SpeedColumns are the columns of which measurements need one.
func SpeedColumns() []string {
	return list.Map(speeds(), func(s speed) string { return s.column })
}

// WriteMeasurements writes measurements.csv: the columns of basic quantities, and others with
// a value; global_batch follows from them and is not written. A measurement that
// [ReadMeasurements] would refuse is an error.
func WriteMeasurements(w io.Writer, ms []Measurement) error {
	ms = slices.Clone(ms)
	knobs, layouts := map[string]string{}, slices.ContainsFunc(ms, func(m Measurement) bool { return !m.Plain() })
	for i := range ms {
		m := &ms[i]
		maps.Copy(knobs, m.Extra)
		m.Nodes, m.Error, m.StartedAt = max(m.Nodes, len(m.Placement)), oneLine(m.Error), m.StartedAt.UTC()
		for _, degree := range []*int{&m.TP, &m.PP, &m.CP, &m.EP} {
			if *degree == 1 {
				*degree = 0
			}
		}
		if m.Layout.Unknown {
			m.Layout = Layout{}
		} else if layouts {
			m.TP = max(m.TP, 1) // an empty tp is unknown
		}
	}
	return WriteTable(w, "measurements", ms, ReadMeasurements, list.Map(slices.Sorted(maps.Keys(knobs)), func(knob string) func(int) string {
		return func(row int) string {
			if row < 0 {
				return extraPrefix + knob
			}
			return ms[row].Extra[knob]
		}
	})...)
}

func measurementColumnNames() []string { return slices.Concat(configColumns, resultColumns) }

var (
	configColumns = append(slices.DeleteFunc(ColumnNames[Config](), func(name string) bool { return slices.Contains(architectureNames, name) }),
		"global_batch", "micro_steps", "dp")
	resultColumns = slices.DeleteFunc(ColumnNames[Measurement](), func(name string) bool { return slices.Contains(configColumns, name) })
)

func isExtraColumn(name string) bool {
	return strings.HasPrefix(name, extraPrefix) && len(name) > len(extraPrefix)
}

func extraColumns(header []string) map[string]int {
	at := map[string]int{}
	for i, h := range header {
		if isExtraColumn(h) {
			at[h[len(extraPrefix):]] = i
		}
	}
	return at
}

// ConfigRow is a configuration and its place in the file.
type ConfigRow struct {
	Config
	Source Source
}

// ReadConfigs reads configurations to predict: the columns of measurements.csv, of which only
// workers or placement is required. Results are ignored. Unknown columns give one warning.
func ReadConfigs(r io.Reader, name string) (rows []ConfigRow, warnings []string, err error) {
	t, err := NewTable(r, name)
	if err != nil {
		return nil, nil, err
	}
	if !t.Has("workers", "placement") {
		return nil, nil, t.Missing("workers", "a column workers or placement")
	}
	mr := &measurementReader{types: map[string]string{}, extra: extraColumns(t.Header), layouts: t.Has("tp", "pp")}
	anyJob := !t.Has("job")
	if anyJob {
		t.given["job"] = "any" // the job is that of the model
	}
	err = EachOf(t, func(row *Row, c *Config) error {
		mr.config(row, c)
		if anyJob {
			c.Job = ""
		}
		rows = append(rows, ConfigRow{*c, row.Source()})
		return nil
	})
	if err != nil {
		return nil, nil, err
	}
	return rows, t.Unknown(measurementColumnNames(), isExtraColumn), nil
}
