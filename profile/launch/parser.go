package launch

import (
	"fmt"

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

// configured is a parser that has to know the configuration of a trial, such
// as one that reads samples/s of a single worker.
type configured interface {
	forTrial(data.Config) Parser
}

// ParserFor returns the parser to use for a trial of c. Launchers call it
// once for each trial.
func ParserFor(p Parser, c data.Config) Parser {
	if f, ok := p.(configured); ok {
		return f.forTrial(c)
	}
	return p
}
