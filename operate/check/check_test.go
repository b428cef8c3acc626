package check

import (
	"errors"
	"fmt"
	"math"
	"strings"
	"testing"

	"knee/data"
	"knee/profile/joblog"
	"knee/profile/launch"
)

func read(t *testing.T, text string) []Step {
	t.Helper()
	steps, _, err := Read(strings.NewReader(text), "f")
	if err != nil {
		t.Fatal(err)
	}
	return steps
}

func verdicts(ws []Worker) string {
	var out []string
	for _, w := range ws {
		out = append(out, w.Name+":"+w.Verdict)
	}
	return strings.Join(out, " ")
}

// TestHalfTheMedianSpeed: exactly half is not yet a straggler, less is.
func TestHalfTheMedianSpeed(t *testing.T) {
	text := "worker,step_time_s\n"
	for _, row := range []string{"a,1", "b,1", "c,1", "d,2", "e,2.01"} {
		text += strings.Repeat(row+"\n", 3)
	}
	ws := Workers(read(t, text))
	if got := verdicts(ws); got != "a:ok b:ok c:ok d:ok e:straggler" {
		t.Error(got)
	}
	if ws[3].Speed != 0.5 || ws[0].Steps != 3 {
		t.Errorf("%+v", ws[3])
	}
	// One slow step among many does not make a straggler.
	if got := verdicts(Workers(read(t, "worker,step_time_s\na,1\na,1\na,9\nb,1\nb,1\nb,1\n"))); got != "a:ok b:ok" {
		t.Error(got)
	}
}

// TestArrivals: under synchronous training all step times are alike, and the
// gradient that all wait for shows the straggler.
func TestArrivals(t *testing.T) {
	text := "worker,step,step_time_s,arrived_s\n"
	for n := range 6 {
		end := float64(3 * n)
		for _, w := range []struct {
			name string
			own  float64
		}{{"a", 1}, {"b", 1.1}, {"c", 3}} {
			text += fmt.Sprintf("%s,%d,3,%g\n", w.name, n, end+w.own)
		}
	}
	ws := Workers(read(t, text))
	if got := verdicts(ws); got != "a:ok b:ok c:straggler" {
		t.Errorf("%s: %+v", got, ws)
	}
	if d := StepTime(read(t, text), data.AllReduce); d != 3 {
		t.Errorf("the step takes %g s, want 3", d)
	}
}

// TestLog: the lines that the ranks print give the same verdicts. The straggler is
// the worker that does not wait for others.
func TestLog(t *testing.T) {
	var log strings.Builder
	for n := range 1500 {
		for rank, own := range []float64{1, 1.1, 2.9} {
			fmt.Fprintf(&log, "knee: {\"rank\":%d,\"step\":%d,\"step_time_s\":3,\"sync_time_s\":%g}\n", rank, n, 3-own)
		}
		log.WriteString("knee: {\"loss\":2}\n")
	}
	var r Recorder
	if _, err := joblog.Read(strings.NewReader(log.String()), "job.log", data.Config{}, data.Metrics{}, r.Add); err != nil {
		t.Fatal(err)
	}
	ws := Workers(r.Steps())
	if got := verdicts(ws); got != "0:ok 1:ok 2:straggler" || ws[0].Steps != recorded {
		t.Errorf("%s: %+v", got, ws)
	}
	if d := StepTime(r.Steps(), data.AllReduce); d != 3 {
		t.Errorf("the step takes %g s, want 3", d)
	}
}

// TestLogSilence: in a log a worker is silent when the others go on printing;
// one whose count of steps falls behind is slow.
func TestLogSilence(t *testing.T) {
	var r Recorder
	for n := range 40 {
		for rank := range 3 {
			if rank == 1 && n > 20 || rank == 2 && n%4 > 0 {
				continue
			}
			r.Add(launch.Observation{Rank: rank, Step: float64(n), StepTime: []float64{1, 1, 4}[rank]})
		}
	}
	if got := verdicts(Workers(r.Steps())); got != "0:ok 1:silent 2:straggler" {
		t.Error(got)
	}
}

func TestSilence(t *testing.T) {
	text, numbered := "worker,step_time_s,arrived_s\n", "worker,step,step_time_s\n"
	for n := range 20 {
		for _, w := range []string{"a", "b", "c"} {
			if w == "b" && n > 10 {
				continue
			}
			text += fmt.Sprintf("%s,1,%d\n", w, n)
			numbered += fmt.Sprintf("%s,%d,1\n", w, n)
		}
	}
	for _, text := range []string{text, numbered} {
		if got := verdicts(Workers(read(t, text))); got != "a:ok b:silent c:ok" {
			t.Error(got)
		}
	}
}

func TestDrift(t *testing.T) {
	steps := read(t, "worker,step,step_time_s\na,1,1\nb,1,1.2\na,2,1\nb,2,1.4\na,3,1\nb,3,1.2\n")
	d := Compare(StepTime(steps, data.AllReduce), data.Estimate{Mean: 1, Lo: 0.9, Hi: 1.1})
	if d.Measured != 1.2 || !d.Refit || math.Abs(d.Change-0.2) > 1e-12 {
		t.Errorf("%+v", d)
	}
	// Two asynchronous workers of 1 and 1.2 s make an update every 0.545 s.
	if got := StepTime(steps, data.PSAsync); math.Abs(got-1/(1+1/1.2)) > 1e-12 {
		t.Errorf("asynchronous: %g", got)
	}
	if got := StepTime(read(t, "worker,step_time_s\na,1\nb,2\n"), data.PSSync); got != 2 {
		t.Errorf("unnumbered: %g", got)
	}
	if got := StepTime(read(t, "worker,step,arrived_s\na,1,1\nb,1,2\na,2,3\nb,2,4\n"), data.AllReduce); got != 2 {
		t.Errorf("arrivals only: %g", got)
	}
}

func TestReadErrors(t *testing.T) {
	for text, want := range map[string]string{
		"":                                     "f: found an empty file",
		"worker,step_time_s\n":                 "f: found no rows",
		"worker,step\n":                        "f:1: found columns worker, step, want worker, and step_time_s",
		"worker,worker,step_time_s\n":          "f:1:worker: found the column twice",
		"worker,step_time_s\na,-1\n":           `f:2:step_time_s: found "-1", want seconds > 0`,
		"worker,step_time_s\na,NaN\n":          `f:2:step_time_s: found "NaN"`,
		"worker,step_time_s\n,1\n":             "f:2:worker: found nothing",
		"worker,step_time_s\na,1\nb\n":         "f:3: found 1 cells, want 2",
		"worker,step,arrived_s\na,x,1\n":       `f:2:step: found "x"`,
		"worker,step,arrived_s\na,1,Inf\n":     `f:2:arrived_s: found "Inf"`,
		"worker,step_time_s,arrived_s\na,,3\n": "f:2:step_time_s: found nothing",
	} {
		_, _, err := Read(strings.NewReader(text), "f")
		var input *data.InputError
		if !errors.As(err, &input) || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: error %v, want %q", text, err, want)
		}
	}
	if _, warnings, err := Read(strings.NewReader("worker,step_time_s,note\na,1,x\n"), "f"); err != nil || len(warnings) != 1 {
		t.Errorf("unknown column: %v, %v", warnings, err)
	}
}

func FuzzRead(f *testing.F) {
	for _, s := range []string{"worker,step_time_s\na,1\n", "worker,step,arrived_s\na,0,1\nb,0,2\na,1,3\n", "worker,step,step_time_s,arrived_s\na,,1,\n", "\"", "worker,step_time_s\n\"a\nb\",1e300\n"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text string) {
		steps, _, err := Read(strings.NewReader(text), "f")
		if err != nil {
			return
		}
		for _, w := range Workers(steps) {
			if w.Verdict == "" || math.IsNaN(w.StepTime) {
				t.Fatalf("%q gives %+v", text, w)
			}
		}
		for _, m := range data.Modes() {
			if v := StepTime(steps, m); !(v >= 0) {
				t.Fatalf("%q steps take %g s", text, v)
			}
		}
	})
}

func ExampleWorkers() {
	steps, _, err := Read(strings.NewReader("worker,step_time_s\n0,0.21\n1,0.20\n2,0.55\n3,0.22\n"), "steps.csv")
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, w := range Workers(steps) {
		fmt.Printf("%s %.2f %s\n", w.Name, w.Speed, w.Verdict)
	}
	// Output:
	// 0 1.02 ok
	// 1 1.07 ok
	// 2 0.39 straggler
	// 3 0.98 ok
}
