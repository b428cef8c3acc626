package launch

import (
	"fmt"
	"math"
	"strconv"

	"knee/data"
)

// Parser reads the output of a trial line by line.
type Parser interface {
	// Parse returns the observation a line holds; ok is false for a line
	// that is none of the parser's business. An error means that the line
	// was meant to be an observation and cannot be read.
	Parse(line string) (o Observation, ok bool, err error)
	// Wants describes, for error messages, the lines it looks for.
	Wants() string
}

// NewParser returns the parser that a study asks for. It fails if the
// regular expression does not compile or names no known quantity.
func NewParser(m data.Metrics) (Parser, error) {
	switch {
	case m.Pattern != "":
		return newPattern(m.Pattern)
	case m.Regex == "":
		return jsonl{}, nil
	}
	p, err := newRegex(m.Regex)
	if err != nil {
		return nil, fmt.Errorf("metrics.regex: %w", err)
	}
	return p, nil
}

// reported checks a number that a trial has printed. What cannot be a step, a
// time or a rate is an error: as measured it could not be written down. A loss
// that has diverged is not reported, for the speed is still of use.
func reported(quantity string, v float64) (float64, error) {
	var b data.Bounds
	switch quantity {
	case "step_time_s":
		b = data.PositiveSeconds()
	case "sync_time_s":
		b = data.Seconds()
	case "step":
		b = data.NonNegative("a step")
	case "throughput":
		b = data.Positive("samples/s")
	case "peak_memory_bytes":
		b = data.Positive("bytes")
	default:
		if !data.Any("").Holds(v) {
			return math.NaN(), nil
		}
		return v, nil
	}
	if !b.Holds(v) {
		return v, fmt.Errorf("%s is %g, want %s", quantity, v, b.Instead(strconv.FormatFloat(v, 'g', -1, 64)))
	}
	return v, nil
}

// configured is a parser that has to know the configuration of a trial, such
// as one that reads samples/s of a single worker.
type configured interface {
	forTrial(data.Config) Parser
}

// ParserFor returns the parser to use for a trial of c, which reads lines that
// tell of memory too. Launchers call it once for each trial.
func ParserFor(p Parser, c data.Config) Parser {
	if f, ok := p.(configured); ok {
		p = f.forTrial(c)
	}
	return memoryReader{p, memoryFormats()}
}
