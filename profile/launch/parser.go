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
	if m.Regex == "" {
		return jsonl{}, nil
	}
	p, err := newRegex(m.Regex)
	if err != nil {
		return nil, fmt.Errorf("metrics.regex: %w", err)
	}
	return p, nil
}
