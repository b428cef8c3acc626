package report

import (
	"cmp"
	"fmt"
	"strings"

	"knee/data"
	"knee/plots"
)

// reportTrials adds the progress of the search and the table of everything
// that was measured, and says what failed and why.
func (j *job) reportTrials(r *Report, s *Section) {
	if len(j.measurements) == 0 {
		return
	}
	count := map[data.Status]int{}
	for _, m := range j.measurements {
		count[m.Status]++
	}
	ok := count[data.OK]
	var failed []string
	for _, st := range data.Statuses() {
		if n := count[st]; n > 0 && st != data.OK {
			failed = append(failed, fmt.Sprintf("%d %s", n, st))
		}
	}
	if len(failed) > 0 {
		r.Findings = append(r.Findings, fmt.Sprintf("%s: %d of %d trials gave no measurement (%s).",
			cmp.Or(j.name, "The job"), len(j.measurements)-ok, len(j.measurements), strings.Join(failed, ", ")))
	}
	if ok == 0 {
		s.Text = append(s.Text, "No trial gave a measurement.")
	} else if len(j.measurements) > 2 {
		fig, err := plots.NewSearch("What was tried", j.measurements)
		s.figure(fig, err, "All trials in order, and the best so far.")
	}
	s.table(trialTable(j.measurements), cut(len(j.measurements), "Trials, in the order in which they ended"), false)
}

func trialTable(ms []data.Measurement) *Table {
	t := newTable("#trial", "GPU type", "mode", "#workers", "#ps", "#local batch", "#accumulation", "#step time (s)", "#samples/s", "status", "error")
	for i, m := range ms[:min(len(ms), mostRows)] {
		step, rate := text(""), text("")
		if m.Status == data.OK {
			step, rate = figures(m.StepTime), amount(m.Throughput(), plots.Plain(m.Throughput()))
		}
		t.row(count(i+1), text(m.GPUType), text(string(m.ModeOrDefault())),
			count(m.Workers), count(m.PS), figures(m.LocalBatch), count(m.AccumSteps), step, rate, text(string(m.Status)), text(m.Error))
	}
	return t
}
