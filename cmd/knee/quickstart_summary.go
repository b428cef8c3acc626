package main

import (
	"context"
	"fmt"
	"io"
	"math"
	"strings"
	"time"

	"gonum.org/v1/gonum/stat"

	"knee/data"
	"knee/internal/term"
	"knee/plots"
)

// summarize prints the results and writes them to summary.txt.
func (q *quickstart) summarize(context.Context) error {
	var b strings.Builder
	for _, j := range q.jobs {
		q.summarizeJob(&b, j)
	}
	q.summarizePlan(&b)
	q.summarizeFiles(&b)
	text := b.String()
	if err := q.write("summary.txt", func(w io.Writer) error { _, err := io.WriteString(w, text); return err }); err != nil {
		return err
	}
	q.app.note("")
	_, err := fmt.Fprintln(q.app.stdout, term.Hanging(q.app.stdout, strings.TrimSuffix(text, "\n")))
	return err
}

func (q *quickstart) summarizeJob(b *strings.Builder, j *quickJob) {
	ok := 0
	for _, m := range j.result.Measurements {
		if m.Status == data.OK {
			ok++
		}
	}
	fmt.Fprintf(b, "%s: %s; %d of %d trials measured\n", j.name, j.about, ok, len(j.result.Measurements))
	k, last := j.knee, j.workers[len(j.workers)-1]
	beyond := ""
	if k.Config.Workers == last {
		beyond = ", the most looked at"
	}
	fmt.Fprintf(b, "  knee     %s%s: goodput %s samples/s\n", shortConfig(k.Config), beyond, between(k.Goodput, number))
	if j.best.Config.Key() != k.Config.Key() {
		fmt.Fprintf(b, "  fastest  %s: goodput %s samples/s\n", shortConfig(j.best.Config), between(j.best.Goodput, number))
	}
	if j.check.Status != data.OK {
		fmt.Fprintf(b, "  check    %s could not be measured: %s: %s\n", shortConfig(j.checked.Config), j.check.Status, j.check.Error)
		return
	}
	inside := "inside"
	if j.check.StepTime < j.checked.StepTime.Lo || j.check.StepTime > j.checked.StepTime.Hi {
		inside = "outside"
	}
	fmt.Fprintf(b, "  check    %s, unmeasured: predicted %s per step,\n           then measured %s (%s, %s the 90 %% interval)\n",
		shortConfig(j.checked.Config), between(j.checked.StepTime, seconds), seconds(j.check.StepTime), percent(j.check.StepTime/j.checked.StepTime.Mean-1), inside)
	if j.again > 0 {
		fmt.Fprintf(b, "           the machine itself: trial 1 measured again, %s\n", percent(j.again-1))
	}
}

// shortConfig names the knobs that the quick start varies.
func shortConfig(c data.Config) string {
	s := plots.Counted(c.Workers, "worker")
	if c.PS > 0 {
		s += fmt.Sprintf(", %d ps", c.PS)
	}
	return s + ", batch " + number(c.LocalBatch)
}

func (q *quickstart) summarizePlan(b *strings.Builder) {
	fmt.Fprintf(b, "plan for this machine (%d worker slots)\n", q.plan.Utilization.GPUsTotal)
	for _, j := range q.plan.Jobs {
		if j.Action == data.Pause {
			fmt.Fprintf(b, "  %-8s waits: %s\n", j.Name, j.Reason)
			continue
		}
		fmt.Fprintf(b, "  %-8s %s: goodput %s samples/s, done in %s\n", j.Name,
			shortConfig(data.Config{Workers: j.Workers, PS: j.PS, LocalBatch: j.LocalBatch}), between(j.Goodput, number), seconds(j.Finish.Mean))
	}
	fmt.Fprintf(b, "  against an even split: %s\n", q.gain())
}

// gain compares the mean completion time of the plan with that of an even split.
func (q *quickstart) gain() string {
	mine, even := meanFinish(q.plan), meanFinish(q.even)
	if !(mine > 0) || !(even > 0) {
		return "the even split cannot finish both jobs"
	}
	return fmt.Sprintf("mean completion %s instead of %s (%s)", seconds(mine), seconds(even), percent(mine/even-1))
}

// meanFinish is the mean predicted completion time in seconds, NaN if some job waits.
func meanFinish(p *data.Plan) float64 {
	var finish []float64
	for _, j := range p.Jobs {
		if !(j.Finish.Mean > 0) {
			return math.NaN()
		}
		finish = append(finish, j.Finish.Mean)
	}
	return stat.Mean(finish, nil)
}

func (q *quickstart) summarizeFiles(b *strings.Builder) {
	first := q.jobs[0].name
	fmt.Fprintf(b, `look at %s (all of this in figures and tables)
  plan.json, and as a scheduler takes it: %s
try next
  knee predict %s --workers 1..16
  knee init my-job       # a study of your own training script
took %s
`, q.path("report.html"), strings.Join(q.exports, "/, ")+"/", q.path(first+".model.json"), time.Since(q.begun).Round(time.Second))
}
