package simulate

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"math"
	"regexp"
	"strconv"
	"strings"

	"knee/data"
)

// gavelFields are the fields of a line of a Gavel trace (Narayanan et al.,
// OSDI 2020), separated by tabs, without a header: job type, command, working
// directory, argument for steps, needs data, total steps, scale factor,
// priority weight, service-level objective, arrival time.
const gavelFields = 10

// gavelBatch finds the batch in a job type such as "ResNet-18 (batch size 64)".
var gavelBatch = regexp.MustCompile(`\(batch size ([0-9]+)\)`)

// readGavel reads a Gavel trace. Work is steps, at one per second until
// somebody says how fast a type of GPU is.
func readGavel(r io.Reader, name string) ([]Job, error) {
	b := bufio.NewReader(r)
	var jobs []Job
	for line := 1; ; line++ {
		text, err := b.ReadString('\n')
		if text = strings.TrimRight(text, "\r\n"); strings.TrimSpace(text) != "" {
			j, err := parseGavel(text, data.Source{File: name, Line: line}, len(jobs))
			if err != nil {
				return nil, err
			}
			jobs = append(jobs, j)
		}
		if errors.Is(err, io.EOF) {
			return jobs, nil
		}
		if err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
	}
}

func parseGavel(text string, src data.Source, n int) (Job, error) {
	f := strings.Split(text, "\t")
	if len(f) != gavelFields {
		return Job{}, &data.InputError{Source: src, Found: fmt.Sprintf("%d fields", len(f)), Want: fmt.Sprintf("the %d of a Gavel trace, separated by tabs", gavelFields)}
	}
	var first error
	num := func(i int, column, want string, ok func(float64) bool) float64 {
		x, err := strconv.ParseFloat(strings.TrimSpace(f[i]), 64)
		if (err != nil || math.IsNaN(x) || math.IsInf(x, 0) || !ok(x)) && first == nil {
			at := src
			at.Column = column
			first = &data.InputError{Source: at, Found: strconv.Quote(f[i]), Want: want}
		}
		return x
	}
	j := Job{Name: strconv.Itoa(n), Application: strings.TrimSpace(f[0]), Steps: true, Source: src}
	whole := func(x float64) bool { return x >= 1 && x == math.Trunc(x) && x <= 1e6 }
	j.Work = num(5, "total_steps", "steps > 0", func(x float64) bool { return x > 0 })
	workers := num(6, "scale_factor", "a whole number of workers, at most 1000000", whole)
	j.Weight = num(7, "priority_weight", "a number ≥ 0", func(x float64) bool { return x >= 0 })
	j.Submit = num(9, "arrival_time", "seconds ≥ 0", func(x float64) bool { return x >= 0 })
	if first != nil {
		return Job{}, first
	}
	j.Workers = int(workers)
	if m := gavelBatch.FindStringSubmatch(j.Application); m != nil {
		if b, err := strconv.ParseFloat(m[1], 64); err == nil {
			j.Batch = b
		}
	}
	return j, nil
}

// isGavel reports whether a text begins like a Gavel trace: tabs before the
// first line ends.
func isGavel(b *bufio.Reader) bool {
	const longest = 4096
	head, _ := b.Peek(longest) // what there is of it will do
	line, _, _ := strings.Cut(string(head), "\n")
	return strings.Count(line, "\t") >= gavelFields/2
}
