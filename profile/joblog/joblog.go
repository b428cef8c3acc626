// Package joblog makes a measurement from the log of a job that ran without knee.
package joblog

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"math"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/dustin/go-humanize/english"

	"knee/data"
	"knee/profile/launch"
	"knee/profile/meter"
)

// maxLine is the most that is read of one line, in bytes.
const maxLine = 64 << 10

// Progress is the progress of a job.
type Progress struct {
	Step        float64          // the last in the log; 0 if it counts none
	Measurement data.Measurement // zero if no step is timed
	Untimed     error            // why: an [*data.InputError]
	Pattern     string           // that was found to match; empty for knee's lines
}

// Read reads the log of a job of configuration c, as a profile reads that of a trial. If the
// program prints only a step counter, step times are the differences of the time stamps of
// its lines (2025-03-01 12:00:00,123 anywhere in a line).
//
// m says how lines are read; zero tries knee's lines and every pattern. name is for errors.
// each, if not nil, is called for every line that reports something, in order, with the last
// time stamp up to the line as Observation.At, zero if there was none.
func Read(r io.Reader, name string, c data.Config, m data.Metrics, each func(launch.Observation)) (Progress, error) {
	var p Progress
	steps := meter.OfLog(m.Rank, c)
	var at, first time.Time
	seen, rises, falls, last := 0, 0, 0, math.NaN()
	pattern, parser, err := scan(r, name, c, m, func(o launch.Observation) {
		if at = o.At; first.IsZero() {
			first = at
		}
		steps.Add(o)
		if steps.Beside(o) {
			return
		}
		if o.OfStep() {
			seen++
		}
		switch {
		case o.Step > last:
			rises++
		case o.Step < last:
			falls++
		}
		if o.Step == o.Step { // NaN: the line has no counter
			last = o.Step
		}
		if o.Step >= 0 && !math.IsInf(o.Step, 1) {
			p.Step = o.Step // of a log that continues after a restart the last
		}
		if each != nil {
			each(o)
		}
	})
	p.Pattern = pattern
	if err != nil {
		return p, err
	}
	if falls > rises { // at the end of an epoch, and of interleaved ranks, it falls too
		p.Untimed = &data.InputError{Source: data.Source{File: name}, Want: "the oldest line first",
			Found: fmt.Sprintf("a step counter that falls %s and rises %s", english.Plural(falls, "time", ""), english.Plural(rises, "time", ""))}
		return p, nil
	}
	reading := steps.Read()
	if why := steps.OutOfMemory(); why != "" {
		p.Measurement = data.Measurement{Config: c, Status: data.OOM, StartedAt: first, GPUMemory: reading.DeviceMemory, Error: why}
		return p, nil
	}
	if reading.Steps == 0 {
		p.Untimed = untimed(name, c, seen, reading.Warmup, at, parser)
		return p, nil
	}
	p.Measurement = data.Measurement{Config: c, Status: data.OK, StepTime: reading.StepTime, StepTimeSD: reading.SD, SyncTime: reading.SyncTime,
		Steps: reading.Steps, Wall: max(at.Sub(first).Seconds(), 0), StartedAt: first, PeakMemory: reading.PeakMemory, GPUMemory: reading.DeviceMemory,
		Error: steps.Contradiction(0)}
	if reading.Steps >= meter.FewestSteps {
		p.Measurement.StepTimeSE = reading.SE
	}
	return p, nil
}

// scan calls take for every line that reports something; what is the pattern's name.
func scan(r io.Reader, name string, c data.Config, m data.Metrics, take func(launch.Observation)) (what string, parser launch.Parser, err error) {
	b := bufio.NewReaderSize(r, launch.HeadBytes)
	if what, parser, err = parserFor(b, name, c, m); err != nil {
		return "", parser, err
	}
	lines := bufio.NewScanner(b)
	lines.Buffer(make([]byte, maxLine), maxLine)
	n, feeds := 1, 0 // number of the line, and line feeds behind it: one with progress bars has several parts
	lines.Split(func(text []byte, atEOF bool) (advance int, part []byte, err error) {
		if i := bytes.IndexAny(text, "\r\n"); i >= 0 {
			advance, part = i+1, text[:i]
		} else if len(text) >= maxLine || atEOF && len(text) > 0 {
			advance, part = len(text), text
		}
		n, feeds = n+feeds, bytes.Count(text[:advance], []byte("\n"))
		return advance, part, nil
	})
	firsts := launch.Firsts{Workers: c.Workers}
	var at time.Time
	ended := false // by Slurm for a reason of its own, such as TIME LIMIT; it then kills what is left
	for lines.Scan() {
		if ended = ended || strings.Contains(lines.Text(), " CANCELLED AT ") && strings.Contains(lines.Text(), " DUE TO "); ended && launch.SpeaksOfMemory(lines.Text()) {
			continue
		}
		if t, ok := timeIn(lines.Text()); ok {
			at = t
		}
		o, ok, err := firsts.Excuse(parser.Parse(lines.Text()))
		if err != nil {
			bad, value := errors.AsType[*data.InputError](err)
			if !value {
				bad = &data.InputError{Found: err.Error(), Want: parser.Wants()}
			}
			bad.File, bad.Line = name, n
			return what, parser, bad
		}
		if ok {
			o.At = at
			take(o)
		}
	}
	return what, parser, data.ReadError(name, lines.Err())
}

func untimed(name string, c data.Config, seen, timed int, at time.Time, parser launch.Parser) error {
	bad := &data.InputError{Source: data.Source{File: name}, Found: fmt.Sprintf("%d lines without the time of a step", seen)}
	switch {
	case seen == 0:
		bad.Found, bad.Want = "no line that tells of a step", parser.Wants()
	case timed > 0:
		bad.Found, bad.Want = fmt.Sprintf("only %d step with a time", timed), "more, as the first is warm-up"
	case c.LocalBatch == 0:
		bad.Want = "a batch too, since only samples/s are known, or lines with a time stamp"
	case at.IsZero():
		bad.Want = "lines with a time stamp such as 2025-03-01 12:00:00"
	default:
		bad.Found, bad.Want = fmt.Sprintf("%d lines with a step, whose time stamps do not advance", seen), "more lines, or finer time stamps"
	}
	return bad
}

// parserFor returns the parser, and the pattern's name if it was searched for.
func parserFor(b *bufio.Reader, name string, c data.Config, m data.Metrics) (pattern string, p launch.Parser, err error) {
	if m == (data.Metrics{}) {
		head, err := b.Peek(launch.HeadBytes)
		if err != nil && !errors.Is(err, io.EOF) {
			return "", p, data.ReadError(name, err)
		}
		expr := ""
		m, expr = launch.Recognise(string(head))
		want := "lines of knee, a --regex, or one of the patterns " + strings.Join(data.MetricPatterns(), ", ")
		if expr != "" {
			want = fmt.Sprintf("--regex, perhaps '%s': check that it reads the right numbers", expr)
		}
		if m == (data.Metrics{}) && expr == "" && slices.ContainsFunc(strings.Split(string(head), "\n"), launch.SpeaksOfMemory) {
			return "", launch.ParserFor(launch.Parser{}, c), nil
		}
		if m == (data.Metrics{}) {
			return "", p, &data.InputError{Source: data.Source{File: name}, Found: "nothing in its first lines that tells of a step", Want: want}
		}
		pattern = m.Pattern
	}
	p, err = launch.NewParser(m)
	return pattern, launch.ParserFor(p, c), err
}

var stamp = regexp.MustCompile(`(?:\b|\x1b\[[\d;]*m)(\d{4}-\d\d-\d\d)[T ](\d\d:\d\d:\d\d)(?:[.,](\d{1,9}))?(Z|[+-]\d\d:?\d\d)?`)

func timeIn(line string) (time.Time, bool) {
	m := stamp.FindStringSubmatch(line)
	if m == nil {
		return time.Time{}, false
	}
	zone, fraction := m[4], m[3]
	switch {
	case zone == "":
		zone = "Z"
	case len(zone) == len("+0100"):
		zone = zone[:3] + ":" + zone[3:]
	}
	if fraction != "" {
		fraction = "." + fraction
	}
	t, err := time.Parse(time.RFC3339Nano, m[1]+"T"+m[2]+fraction+zone)
	return t, err == nil
}
