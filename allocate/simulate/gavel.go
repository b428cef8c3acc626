package simulate

import (
	"bufio"
	"fmt"
	"io"
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

// readGavel reads a Gavel trace. Work is steps, at one per second unless the speed
// on a GPU type is given.
func readGavel(r io.Reader, name string) ([]Job, error) {
	var jobs []Job
	lines := bufio.NewScanner(r)
	for line := 1; lines.Scan(); line++ {
		if strings.TrimSpace(lines.Text()) == "" {
			continue
		}
		j, err := parseGavel(lines.Text(), data.Source{File: name, Line: line}, len(jobs))
		if err != nil {
			return nil, err
		}
		jobs = append(jobs, j)
	}
	if err := lines.Err(); err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	return jobs, nil
}

func parseGavel(text string, src data.Source, n int) (Job, error) {
	f := strings.Split(text, "\t")
	if len(f) != gavelFields {
		return Job{}, &data.InputError{Source: src, Found: fmt.Sprintf("%d fields", len(f)), Want: fmt.Sprintf("the %d of a Gavel trace, separated by tabs", gavelFields)}
	}
	var first error
	num := func(i int, column string, b data.Bounds) float64 {
		x, ok := b.Parse(f[i])
		if !ok && first == nil {
			at := src
			at.Column = column
			first = &data.InputError{Source: at, Found: strconv.Quote(f[i]), Want: b.Instead(f[i])}
		}
		return x
	}
	j := Job{Name: strconv.Itoa(n), Application: strings.TrimSpace(f[0]), Steps: true, Source: src}
	j.Work = num(5, "total_steps", data.Positive("steps"))
	workers := num(6, "scale_factor", workerCount())
	j.Weight = num(7, "priority_weight", data.NonNegative("a number"))
	j.Submit = num(9, "arrival_time", data.Seconds())
	if first != nil {
		return Job{}, first
	}
	j.Workers = int(workers)
	if m := gavelBatch.FindStringSubmatch(j.Application); m != nil {
		j.Batch, _ = data.Samples().Parse(m[1])
	}
	return j, nil
}
