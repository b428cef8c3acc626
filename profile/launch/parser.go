package launch

import (
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"knee/data"
)

// Parser reads the output of a trial line by line.
type Parser interface {
	// Parse returns the observation in a line; ok is false for any other line. An
	// error means that the line is an observation that cannot be read.
	Parse(line string) (o Observation, ok bool, err error)
	// Wants describes, for error messages, the lines it looks for.
	Wants() string
}

// NewParser returns the parser of a study. The error is an [*data.InputError].
func NewParser(m data.Metrics) (Parser, error) {
	switch {
	case m.Pattern != "":
		i := slices.IndexFunc(data.Patterns(), func(p data.Pattern) bool { return p.Name == m.Pattern })
		if i < 0 {
			return nil, data.Invalid("metrics.pattern", strconv.Quote(m.Pattern), "one of "+strings.Join(data.MetricPatterns(), ", "))
		}
		return regex{name: m.Pattern, kinds: data.Patterns()[i].Lines}, nil
	case m.Regex == "":
		return jsonl{}, nil
	}
	re, err := data.Expression(m.Regex)
	if err != nil {
		return nil, err
	}
	return regex{kinds: []*regexp.Regexp{re}}, nil
}

// set stores a number that a trial printed. known is false for an unknown
// quantity. A value that is not a valid step, time or rate is an error. A loss
// or gradient statistic that is not finite is left out: the speed is still
// valid. A worker consumes samples per step, 0 if not known: then its rate gives
// no time.
func (o *Observation) set(quantity string, v, samples float64) (known bool, err error) {
	switch quantity {
	case "step_time_ms":
		quantity, v = "step_time_s", v/1000
	case "steps_per_s":
		quantity, v = "step_time_s", 1/v
	case "worker_throughput":
		if samples == 0 {
			return true, nil
		}
		quantity, v = "step_time_s", samples/v
	}
	bounds, to := data.Any(""), &o.Loss
	switch quantity {
	case "step":
		bounds, to = data.NonNegative("a step"), &o.Step
	case "step_time_s":
		bounds, to = data.PositiveSeconds(), &o.StepTime
	case "sync_time_s":
		bounds, to = data.Seconds(), &o.SyncTime
	case "throughput":
		bounds, to = data.Positive("samples/s"), &o.Throughput
	case "peak_memory_bytes":
		bounds, to = data.Positive("bytes"), &o.PeakMemory
	case "loss":
	case "grad_sqr":
		to = &o.GradSqr
	case "grad_var":
		to = &o.GradVar
	default:
		return false, nil
	}
	switch {
	case bounds.Holds(v):
		*to = v
	case to != &o.Loss && to != &o.GradSqr && to != &o.GradVar:
		return true, fmt.Errorf("%s is %g, want %s", quantity, v, bounds.Instead(strconv.FormatFloat(v, 'g', -1, 64)))
	}
	return true, nil
}

// ParserFor returns the parser for a trial of c, which knows the samples of a
// step and reads lines that report memory too. Launchers call it once per trial.
func ParserFor(p Parser, c data.Config) Parser {
	samples := c.LocalBatch * float64(c.AccumSteps+1)
	switch known := p.(type) {
	case regex:
		known.samples = samples
		p = known
	case jsonl:
		p = jsonl{samples}
	}
	return memoryReader{p, memoryFormats()}
}
