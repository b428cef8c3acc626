package data

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"
)

// measurementRow is one row of measurements.csv as text, in the order of the
// columns. Conversion is done here and not by gocsv because an error has to
// say what the column wants.
type measurementRow struct {
	Job          string `csv:"job"`
	GPUType      string `csv:"gpu_type"`
	Mode         string `csv:"mode"`
	Placement    string `csv:"placement"`
	Nodes        string `csv:"nodes"`
	Workers      string `csv:"workers"`
	PS           string `csv:"ps"`
	LocalBatch   string `csv:"local_batch"`
	GlobalBatch  string `csv:"global_batch"`
	AccumSteps   string `csv:"accum_steps"`
	StepTime     string `csv:"step_time_s"`
	SyncTime     string `csv:"sync_time_s"`
	StepTimeSD   string `csv:"step_time_sd_s"`
	Steps        string `csv:"steps"`
	Status       string `csv:"status"`
	Error        string `csv:"error"`
	PricePerHour string `csv:"price_per_hour"`
	Wall         string `csv:"wall_s"`
	StartedAt    string `csv:"started_at"`

	extra map[string]string
}

// configColumns lists the columns that describe a configuration.
func configColumns() []string {
	return []string{"job", "gpu_type", "mode", "placement", "nodes", "workers", "ps", "local_batch", "global_batch", "accum_steps"}
}

// resultColumns lists the columns that hold what a trial yielded.
func resultColumns() []string {
	return []string{"step_time_s", "sync_time_s", "step_time_sd_s", "steps", "status", "error", "price_per_hour", "wall_s", "started_at"}
}

// measurementColumns lists the columns of measurements.csv in order.
func measurementColumns() []string { return append(configColumns(), resultColumns()...) }

// coreMeasurementColumns lists the columns that are written even if empty.
func coreMeasurementColumns() []string {
	return []string{"job", "gpu_type", "mode", "workers", "ps", "local_batch", "accum_steps", "step_time_s", "status"}
}

// newMeasurementRow returns the cells of m. The global batch is left out: it
// follows from the others.
func newMeasurementRow(m Measurement) measurementRow {
	startedAt := ""
	if !m.StartedAt.IsZero() {
		startedAt = m.StartedAt.UTC().Format(time.RFC3339Nano)
	}
	nodes := m.Nodes
	if nodes == 0 {
		nodes = len(m.Placement)
	}
	return measurementRow{
		Job: m.Job, GPUType: m.GPUType, Mode: string(m.ModeOrDefault()),
		Placement: m.Placement.String(), Nodes: formatCount(nodes),
		Workers: strconv.Itoa(m.Workers), PS: strconv.Itoa(m.PS),
		LocalBatch: formatFloat(m.LocalBatch), AccumSteps: strconv.Itoa(m.AccumSteps),
		StepTime: formatFloat(m.StepTime), SyncTime: formatFloat(m.SyncTime),
		StepTimeSD: formatFloat(m.StepTimeSD), Steps: formatCount(m.Steps),
		Status: string(m.Status), Error: oneLine(m.Error),
		PricePerHour: formatFloat(m.PricePerHour), Wall: formatFloat(m.Wall),
		StartedAt: startedAt, extra: m.Extra,
	}
}

// measurement converts the cells, which came from src.
func (mr measurementRow) measurement(src Source) (Measurement, error) {
	r := &row{src: src}
	m := Measurement{Source: src, Config: mr.config(r)}
	nonNegative := func(v float64) bool { return v >= 0 }
	m.StepTime = r.number("step_time_s", mr.StepTime, 0, wantPositiveTime, func(v float64) bool { return v > 0 })
	m.SyncTime = r.number("sync_time_s", mr.SyncTime, 0, wantTime, nonNegative)
	m.StepTimeSD = r.number("step_time_sd_s", mr.StepTimeSD, 0, wantTime, nonNegative)
	m.Steps = r.whole("steps", mr.Steps, 0)
	m.Status = mr.status(r)
	m.Error = oneLine(mr.Error)
	m.PricePerHour = r.number("price_per_hour", mr.PricePerHour, 0, "US$ per hour ≥ 0", nonNegative)
	m.Wall = r.number("wall_s", mr.Wall, 0, wantTime, nonNegative)
	at, err := parseStartedAt(mr.StartedAt)
	if err != nil {
		r.fail("started_at", quote(mr.StartedAt), "a time such as 2025-03-01T12:00:00Z (RFC 3339)")
	}
	m.StartedAt = at
	return m, r.err
}

// status reads the status and checks that it agrees with the step time.
func (mr measurementRow) status(r *row) Status {
	s := Status(mr.Status)
	switch hint, known := oneOf(mr.Status, statusNames()); {
	case s == "" && mr.StepTime != "":
		return OK
	case s == "":
		r.fail("status", "neither status nor step_time_s", "one of them")
	case !known:
		r.fail("status", quote(mr.Status)+hint, "one of "+strings.Join(statusNames(), ", "))
	case s == OK && mr.StepTime == "":
		r.fail("step_time_s", "nothing", wantPositiveTime+", since status is ok")
	case s != OK && mr.StepTime != "":
		r.fail("step_time_s", quote(mr.StepTime), "an empty cell, since status is "+mr.Status)
	}
	return s
}

// config converts the cells that describe the configuration.
func (mr measurementRow) config(r *row) Config {
	c := Config{Job: r.text("job", mr.Job), GPUType: r.text("gpu_type", mr.GPUType)}
	if c.Job == "" {
		r.fail("job", "nothing", "the name of what is trained")
	}
	mr.counts(r, &c)
	c.PS = r.whole("ps", mr.PS, 0)
	mode, column, found, want := checkMode(mr.Mode, c.PS)
	if want != "" {
		r.fail(column, found, want)
	}
	c.Mode = mode
	c.AccumSteps = r.whole("accum_steps", mr.AccumSteps, 0)
	mr.batch(r, &c)
	for _, knob := range slices.Sorted(maps.Keys(mr.extra)) {
		if !validKnobColumn(knob) {
			r.fail(extraPrefix+knob, quote(knob), "a column name on one line, without blanks around it")
		}
		if v := mr.extra[knob]; v != "" {
			if c.Extra == nil {
				c.Extra = map[string]string{}
			}
			c.Extra[knob] = r.text(extraPrefix+knob, v)
		}
	}
	return c
}

// counts reads placement, nodes and workers, which must agree.
func (mr measurementRow) counts(r *row, c *Config) {
	placement, err := ParsePlacement(mr.Placement)
	if err != nil || slices.ContainsFunc(placement, func(n int) bool { return n > maxCount }) || placement.Workers() > maxCount {
		r.fail("placement", quote(mr.Placement), "workers per node, such as 4-4-2")
		return
	}
	c.Placement = placement
	c.Workers = r.whole("workers", mr.Workers, 1)
	c.Nodes = r.whole("nodes", mr.Nodes, 1)
	if placement == nil {
		if mr.Workers == "" {
			r.fail("workers", "neither workers nor placement", "one of them")
		}
		return
	}
	if mr.Workers != "" && c.Workers != placement.Workers() {
		r.fail("workers", mr.Workers, fmt.Sprintf("%d, the sum of placement %s", placement.Workers(), placement))
	}
	if mr.Nodes != "" && c.Nodes != len(placement) {
		r.fail("nodes", mr.Nodes, fmt.Sprintf("%d, the nodes of placement %s", len(placement), placement))
	}
	c.Workers, c.Nodes = placement.Workers(), len(placement)
}

// batch reads the local or the global batch; the other follows.
func (mr measurementRow) batch(r *row, c *Config) {
	ok := func(v float64) bool { return v > 0 && v <= maxBatch }
	c.LocalBatch = r.number("local_batch", mr.LocalBatch, 0, wantBatch, ok)
	global := r.number("global_batch", mr.GlobalBatch, 0, wantBatch, ok)
	if r.err != nil || global == 0 {
		return
	}
	micro := float64(c.Workers) * float64(c.AccumSteps+1)
	if c.LocalBatch == 0 {
		c.LocalBatch = global / micro
	} else if !nearlyEqual(c.LocalBatch*micro, global) {
		r.fail("global_batch", mr.GlobalBatch, fmt.Sprintf("%s, which is workers × local_batch × (accum_steps + 1)", formatFloat(c.LocalBatch*micro)))
	}
}

// checkMode reads a mode and checks it against the number of parameter
// servers. If they do not fit, want is not empty and says what would.
func checkMode(name string, ps int) (mode Mode, column, found, want string) {
	mode = Mode(name)
	hint, known := oneOf(name, modeNames())
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

// modeNames lists the modes as text.
func modeNames() []string { return names(Modes()) }

// statusNames lists the statuses as text.
func statusNames() []string { return names(Statuses()) }

func names[T ~string](values []T) []string {
	out := make([]string, len(values))
	for i, v := range values {
		out[i] = string(v)
	}
	return out
}

// validKnobColumn reports whether a knob name survives in a CSV header.
func validKnobColumn(knob string) bool {
	return knob != "" && singleLine(extraPrefix+knob)
}

// oneLine folds the lines of a message into one and drops what is not
// printable, since logs of trials hold colour codes and progress bars.
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
