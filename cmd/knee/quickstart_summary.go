package main

import (
	"context"
	"fmt"
	"io"
	"math"
	"strings"
	"time"

	"knee/data"
	"knee/internal/term"
)

// summarize prints what was found, in words, and keeps it in summary.txt.
func (q *quickstart) summarize(context.Context) error {
	var b strings.Builder
	for _, j := range q.jobs {
		q.summarizeJob(&b, j)
	}
	q.summarizePlan(&b)
	q.summarizeFiles(&b)
	text := b.String()
	err := data.WriteFile(q.path("summary.txt"), func(w io.Writer) error { _, err := io.WriteString(w, text); return err })
	if err != nil {
		return err
	}
	q.app.note("")
	_, err = fmt.Fprintln(q.app.stdout, term.Hanging(q.app.stdout, strings.TrimSuffix(text, "\n")))
	return err
}

func (q *quickstart) summarizeJob(b *strings.Builder, j *quickJob) {
	ok := 0
	for _, m := range j.result.Measurements {
		if m.Status == data.OK {
			ok++
		}
	}
	fmt.Fprintf(b, "%s (%s): %d of %d trials measured\n", j.name, j.about, ok, len(j.result.Measurements))
	k := j.knee
	beyond := "a further worker brings less than half its share"
	if k.Config.Workers == j.workers[len(j.workers)-1] {
		beyond = "the most that were looked at, and still worth it"
	}
	fmt.Fprintf(b, "  knee       %d worker%s (%s): %s samples/s; %s\n",
		k.Config.Workers, plural(k.Config.Workers), strings.Join(strings.Split(k.Config.String(), ", ")[1:], ", "), between(k.Throughput, number), beyond)
	fmt.Fprintf(b, "  best       %s: goodput %s samples/s\n", j.best.Config, between(j.best.Goodput, number))
	if j.check.Status == data.OK {
		miss := j.check.StepTime/j.checked.StepTime.Mean - 1
		inside := "inside"
		if j.check.StepTime < j.checked.StepTime.Lo || j.check.StepTime > j.checked.StepTime.Hi {
			inside = "outside"
		}
		fmt.Fprintf(b, "  check      %s, not measured before: predicted %s per step, then measured %s (%s, %s the 90 %% interval)\n",
			j.checked.Config, between(j.checked.StepTime, seconds), seconds(j.check.StepTime), percent(miss), inside)
	} else {
		fmt.Fprintf(b, "  check      %s could not be measured: %s: %s\n", j.checked.Config, j.check.Status, j.check.Error)
	}
}

func (q *quickstart) summarizePlan(b *strings.Builder) {
	fmt.Fprintf(b, "plan for this machine (%d worker slots)\n", q.plan.Utilization.GPUsTotal)
	for _, j := range q.plan.Jobs {
		if j.Action == data.Pause {
			fmt.Fprintf(b, "  %-10s waits: %s\n", j.Name, j.Reason)
			continue
		}
		fmt.Fprintf(b, "  %-10s %d worker%s, %d ps, %s, batch %s: goodput %s samples/s, done in %s\n", j.Name, j.Workers, plural(j.Workers), j.PS,
			j.Mode, number(j.LocalBatch), between(j.Goodput, number), seconds(j.Finish.Mean))
	}
	fmt.Fprintf(b, "  against an even split at the initial batch: %s\n", q.gain())
}

// gain compares the plan with an even split, by what a person waits for.
func (q *quickstart) gain() string {
	mine, mean := meanFinish(q.plan), meanFinish(q.even)
	if !(mine > 0) || !(mean > 0) {
		return "the even split cannot finish both jobs"
	}
	return fmt.Sprintf("mean completion %s instead of %s (%s)", seconds(mine), seconds(mean), percent(mine/mean-1))
}

// meanFinish is the mean predicted completion time in seconds; NaN if some
// job waits.
func meanFinish(p *data.Plan) float64 {
	var sum float64
	for _, j := range p.Jobs {
		if !(j.Finish.Mean > 0) {
			return math.NaN()
		}
		sum += j.Finish.Mean
	}
	return sum / float64(len(p.Jobs))
}

func (q *quickstart) summarizeFiles(b *strings.Builder) {
	first := q.jobs[0].name
	fmt.Fprintf(b, `look at, in %s
  %s-scalability.png, allocation.png and %d other figures
  plan.json, and as a scheduler takes it: %s
  %s.yaml (the study), %[2]s.measurements.csv, %[2]s.model.json, %[2]s.logs/
try next
  knee predict %[6]s --workers 1..16
  knee plot speed %[6]s --over ps -f speed.png
  knee init my-job       # a study of your own training script
took %[7]s
`, q.dir, first, len(q.plots)-2, strings.Join(q.exports, "/, ")+"/", first, q.path(first+".model.json"), time.Since(q.begun).Round(time.Second))
}

func plural(n int) string {
	if n == 1 {
		return ""
	}
	return "s"
}
