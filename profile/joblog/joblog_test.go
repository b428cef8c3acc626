package joblog_test

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"strings"
	"testing"
	"testing/iotest"
	"time"

	"knee/data"
	"knee/profile/joblog"
	"knee/profile/launch"
)

func TestRead(t *testing.T) {
	c := data.Config{Job: "a", Workers: 4, LocalBatch: 32}
	var jsonl, counter, tqdm, colours strings.Builder
	for i := range 60 {
		step := 0.1
		if i < 3 {
			step = 2 // kernels are compiled
		}
		fmt.Fprintf(&jsonl, "[rank0] knee: {\"step\":%d,\"step_time_s\":%g}\nother words\n", i+1, step)
		fmt.Fprintf(&counter, "2025-03-01 12:%02d:%02d,500 INFO step %d loss 2.1\n", i/2, 30*(i%2), i+1)
		fmt.Fprintf(&colours, "\x1b[32mstep \x1b[1m%d\x1b[0m time \x1b[38;5;208m%g\x1b[0m s\n", i+1, step)
		fmt.Fprintf(&tqdm, "\r %d%%|██ | %d/60 [00:05<00:45,  4.00it/s, loss=1.2]", i, i+1)
	}
	for name, tc := range map[string]struct {
		log     string
		metrics data.Metrics
		want    float64 // s
		fitted  string
	}{
		"jsonl":   {jsonl.String(), data.Metrics{}, 0.1, ""},
		"counter": {counter.String(), data.Metrics{Regex: `step (?P<step>\d+)`}, 30, ""},
		"green":   {strings.ReplaceAll(strings.ReplaceAll(counter.String(), "2025", "\x1b[32m2025"), ",500", ",500\x1b[0m"), data.Metrics{Regex: `step (?P<step>\d+)`}, 30, ""},
		"tqdm":    {tqdm.String() + "\n", data.Metrics{}, 0.25, "tqdm"},
		"colours": {colours.String(), data.Metrics{Regex: `step (?P<step>\d+) time (?P<step_time_s>[0-9.]+)`}, 0.1, ""},
		"batch":   {strings.Repeat("images/sec: 1280.0\n", 9), data.Metrics{Regex: `images/sec: (?P<throughput>[0-9.]+)`}, 0.1, ""},
	} {
		p, err := joblog.Read(strings.NewReader(tc.log), "job.log", c, tc.metrics, nil)
		m := p.Measurement
		if err != nil || math.Abs(m.StepTime-tc.want) > 1e-9 || m.Steps < 3 || m.Status != data.OK || p.Pattern != tc.fitted {
			t.Errorf("%s: %+v, %q, %v; want %g s", name, m, p.Pattern, err, tc.want)
		}
	}
}

// The first rate of a worker may be NaN or infinite, a later one is an error.
func TestReadFirstRate(t *testing.T) {
	lines := func(rates ...string) string {
		var log strings.Builder
		for i, r := range append(rates, "50", "50", "50", "50") {
			fmt.Fprintf(&log, "step %d, %s it/s\n", i+1, r)
		}
		return log.String()
	}
	regex := data.Metrics{Regex: `step (?P<step>\d+), (?P<steps_per_s>\S+) it/s`}
	own := strings.NewReplacer("step ", `knee: {"step":`, ", ", `,"steps_per_s":`, " it/s", "}")
	for _, tc := range []struct {
		log     string
		metrics data.Metrics
		workers int
		want    string // in the error
	}{
		{lines("nan", "50"), regex, 1, ""},
		{lines("inf", "50"), regex, 1, ""},
		{own.Replace(lines("NaN", "50")), data.Metrics{}, 1, ""},
		{own.Replace(lines("0", "50")), data.Metrics{}, 1, ""}, // a step time of 1/0
		{lines("nan", "nan", "50"), regex, 2, ""},
		{lines("nan", "nan", "50"), regex, 1, `job.log:2:step_time_s: found NaN, want seconds > 0`},
		{lines("50", "nan"), regex, 1, "job.log:2:step_time_s: "},
		{own.Replace(lines("50", "Infinity")), data.Metrics{}, 1, "job.log:2:step_time_s: "},
		{lines("-50"), regex, 1, "job.log:1:step_time_s: "},
	} {
		p, err := joblog.Read(strings.NewReader(tc.log), "job.log", data.Config{Job: "a", Workers: tc.workers}, tc.metrics, nil)
		if tc.want != "" {
			if err == nil || !strings.Contains(err.Error(), tc.want) {
				t.Errorf("%s%v; want …%s…", tc.log, err, tc.want)
			}
		} else if m := p.Measurement; err != nil || math.Abs(m.StepTime-.02) > 1e-9 || m.Status != data.OK {
			t.Errorf("%s%+v, %v; want 0.02 s", tc.log, m, err)
		}
	}
}

// Step times that the time stamps of the lines contradict are doubted.
func TestReadDoubts(t *testing.T) {
	for told, want := range map[string]string{"2": "", "2000": "they look like milliseconds", "0.1": "its steps take 2.9 s of the 56 s"} {
		var log strings.Builder
		for i := range 30 {
			fmt.Fprintf(&log, "2025-03-01 12:00:%02d knee: {\"step\":%d,\"step_time_s\":%s}\n", 2*i, i+1, told)
		}
		p, err := joblog.Read(strings.NewReader(log.String()), "job.log", data.Config{Workers: 1}, data.Metrics{}, nil)
		if err != nil || (p.Measurement.Error == "") != (want == "") || !strings.Contains(p.Measurement.Error, want) {
			t.Errorf("steps of %s s, a line every 2 s: %q, %v; want …%s…", told, p.Measurement.Error, err, want)
		}
	}
}

// Memory reported anywhere in a log is part of the measurement.
func TestReadMemory(t *testing.T) {
	c := data.Config{Job: "a", Workers: 8, LocalBatch: 1}
	var log strings.Builder
	for i := range 10 {
		fmt.Fprintf(&log, "epoch=0/micro_step=1/global_step=%d, RunningAvgSamplesPerSec=80, CurrSamplesPerSec=80, MemAllocated=1.5GB, MaxMemAllocated=2.5GB\n", i+1)
	}
	log.WriteString("MA 1.0 GB         Max_MA 3.25 GB         CA 4 GB         Max_CA 4 GB\n")
	const died = "torch.OutOfMemoryError: CUDA out of memory. GPU 0 has a total capacity of 79.5 GiB of which 1 GiB is free.\n"
	read := func(log string) (data.Measurement, string, error) {
		p, err := joblog.Read(strings.NewReader(log), "job.log", c, data.Metrics{}, nil)
		return p.Measurement, p.Pattern, err
	}
	for _, text := range []string{died, log.String() + died} { // before the first step, or after the last
		if m, _, err := read(text); err != nil || m.Status != data.OOM || m.StepTime != 0 || m.GPUMemory != 79.5*(1<<30) || m.Error == "" {
			t.Errorf("%+v, %v; want out of memory", m, err)
		}
	}
	m, pattern, err := read(died + log.String()) // a smaller batch was tried
	if err != nil || pattern != "deepspeed" || math.Abs(m.StepTime-.1) > 1e-9 {
		t.Fatalf("%+v, %q, %v", m, pattern, err)
	}
	if m.PeakMemory != 3.25*(1<<30) || m.GPUMemory != 79.5*(1<<30) {
		t.Errorf("peak %.0f of %.0f bytes, want 3.25 of 79.5 GiB", m.PeakMemory, m.GPUMemory)
	}
}

// What Slurm kills at the end of the time limit did not run out of memory.
func TestReadOfATimeLimit(t *testing.T) {
	log := strings.Repeat(" iteration 1/ 500 | elapsed time per iteration (ms): 5000.0 | lm loss: 1.0E+01 |\n", 9) +
		"slurmstepd: error: *** JOB 4711 ON n01 CANCELLED AT 2025-03-01T18:00:00 DUE TO TIME LIMIT ***\n  traceback : Signal 9 (SIGKILL) received by PID 99\n"
	for i := range 9 {
		log = strings.Replace(log, "iteration 1/", fmt.Sprintf("iteration %d/", 10*(i+2)), 1)
	}
	p, err := joblog.Read(strings.NewReader(log), "job.log", data.Config{Job: "a", Workers: 8, LocalBatch: 4}, data.Metrics{}, nil)
	if m := p.Measurement; err != nil || m.Status != data.OK || m.StepTime != 5 || !m.StartedAt.IsZero() {
		t.Errorf("%+v, %v; want 5 s", m, err)
	}
	log = strings.Replace(log, " DUE TO TIME LIMIT", "", 1) + "slurmstepd: error: Detected 1 oom_kill event in StepId=4711.0.\n"
	if p, err = joblog.Read(strings.NewReader(log), "job.log", data.Config{Job: "a", Workers: 8, LocalBatch: 4}, data.Metrics{}, nil); err != nil || p.Measurement.Status != data.OOM {
		t.Errorf("%+v, %v; want out of memory", p.Measurement, err)
	}
}

// Of several progress bars the longest is that of the training, wherever others stand.
func TestReadOfSeveralBars(t *testing.T) {
	var log strings.Builder
	bar := func(steps int, rate string) {
		for i := range steps {
			fmt.Fprintf(&log, "\r%d%%|█| %d/%d [00:01<00:10, %s]", i, i+1, steps, rate)
		}
	}
	bar(400, "98.2it/s") // tokenizing
	for i := range 80 {
		fmt.Fprintf(&log, "\r%d%%|█| %d/80 [00:01<00:10, 2.00s/it]", i, i+1)
		if i%20 == 19 {
			bar(25, "12.5it/s") // evaluation
		}
	}
	p, err := joblog.Read(strings.NewReader(log.String()), "job.log", data.Config{Job: "a", Workers: 8, LocalBatch: 4}, data.Metrics{}, nil)
	if err != nil || p.Measurement.StepTime != 2 || p.Step != 80 {
		t.Errorf("%+v, %v; want 2 s and step 80", p, err)
	}

	log.Reset() // bars without a rate
	at := time.Date(2025, 3, 1, 12, 0, 0, 0, time.UTC)
	for _, of := range []struct{ steps, seconds int }{{50, 1}, {100, 20}} {
		for i := range of.steps {
			at = at.Add(time.Duration(of.seconds) * 100 * time.Millisecond)
			fmt.Fprintf(&log, "%s %d/%d\n", at.Format("2006-01-02T15:04:05.000Z07:00"), i+1, of.steps)
		}
	}
	p, err = joblog.Read(strings.NewReader(log.String()), "job.log", data.Config{Job: "a", Workers: 1, LocalBatch: 4}, data.Metrics{Regex: `(?P<step>\d+)/(?P<total_steps>\d+)`}, nil)
	if err != nil || math.Abs(p.Measurement.StepTime-2) > 1e-9 {
		t.Errorf("%g s, %v; want 2 s", p.Measurement.StepTime, err)
	}
}

// While a run is down, time passes without steps; a zone may be written without a colon.
func TestReadOfContinuedRuns(t *testing.T) {
	var log strings.Builder
	at := time.Date(2025, 3, 1, 12, 0, 0, 0, time.FixedZone("", 3600))
	for i := range 400 {
		if at = at.Add(25 * time.Second); i == 20 || i == 300 {
			at = at.Add(2 * time.Hour)
		}
		fmt.Fprintf(&log, "%s step %d\n", at.Format("2006-01-02T15:04:05-0700"), 10*(i+1))
	}
	p, err := joblog.Read(strings.NewReader(log.String()), "job.log", data.Config{Job: "a", Workers: 8, LocalBatch: 4}, data.Metrics{Regex: `step (?P<step>\d+)`}, nil)
	if err != nil || math.Abs(p.Measurement.StepTime-2.5) > 1e-9 || p.Measurement.StartedAt.UTC().Hour() != 11 {
		t.Errorf("%g s from %v, %v; want 2.5 s, from 11:00 UTC", p.Measurement.StepTime, p.Measurement.StartedAt, err)
	}

	log.Reset() // ever fewer lines
	at = time.Date(2025, 3, 1, 12, 0, 0, 0, time.UTC)
	last := 0
	for _, step := range []int{1, 2, 3, 4, 5, 10, 20, 50, 100, 300, 1000, 3000, 10000} {
		at = at.Add(time.Duration(step-last) * time.Second)
		last = step
		fmt.Fprintf(&log, "%s step %d\n", at.Format(time.RFC3339), step)
	}
	p, err = joblog.Read(strings.NewReader(log.String()), "job.log", data.Config{Job: "a", Workers: 1, LocalBatch: 4}, data.Metrics{Regex: `step (?P<step>\d+)`}, nil)
	if err != nil || math.Abs(p.Measurement.StepTime-1) > 1e-9 || p.Measurement.Steps < 9 {
		t.Errorf("%g s over %d lines, %v; want 1 s", p.Measurement.StepTime, p.Measurement.Steps, err)
	}
}

func TestReadRefuses(t *testing.T) {
	counter := data.Metrics{Regex: `step (?P<step>\d+)`}
	rate := data.Metrics{Regex: `images/sec: (?P<throughput>[0-9.]+)`}
	for _, tc := range []struct {
		log     string
		c       data.Config
		metrics data.Metrics
		want    string
	}{
		{"hello\n", data.Config{Workers: 1}, data.Metrics{}, "nothing in its first lines"},
		{"hello\n", data.Config{Workers: 1}, rate, "no line that tells of a step"},
		{strings.Repeat("images/sec: 9\n", 5), data.Config{Workers: 1}, rate, "a batch too"},
		{"step 1\nstep 2\nstep 3\n", data.Config{Workers: 1, LocalBatch: 8}, counter, "lines with a time stamp"},
		{"knee: {\"step\":1,\"step_time_s\":0.1}\nknee: {\"step_time_s\":-1}\n", data.Config{Workers: 1}, data.Metrics{}, "job.log:2:step_time_s: "},
		{"begin\nknee: {\"step_time_s\":0}\n", data.Config{Workers: 1}, data.Metrics{}, "job.log:2:step_time_s: found 0, want seconds > 0"},
		{"knee: {\"step\":1,\"step_time_s\":0.1}\n", data.Config{Workers: 1}, data.Metrics{}, "only 1 step with a time"},
		{"step 9 took 0.1 s\nstep 8 took 0.1 s\nstep 7 took 0.1 s\nstep 1 took 0.1 s\nstep 2 took 0.1 s\n", data.Config{Workers: 1},
			data.Metrics{Regex: `step (?P<step>\d+) took (?P<step_time_s>\S+) s`}, "found a step counter that falls 3 times and rises 1 time, want the oldest line first"},
		{strings.Repeat("12:00:00 2025-03-01 12:00:00 step 1\n2025-03-01 12:00:00 step 2\n", 2), data.Config{Workers: 1, LocalBatch: 8}, counter, "time stamps do not advance"},
	} {
		p, err := joblog.Read(strings.NewReader(tc.log), "job.log", tc.c, tc.metrics, nil)
		err = cmp.Or(err, p.Untimed)
		var input *data.InputError
		if !errors.As(err, &input) || !strings.Contains(err.Error(), tc.want) || !strings.HasPrefix(err.Error(), "job.log") {
			t.Errorf("%.30q: %v, want …%s…", tc.log, err, tc.want)
		}
	}
}

// The format of the lines is found behind what libraries print at the start.
func TestReadBehindALongHead(t *testing.T) {
	log := strings.Repeat("NCCL INFO Channel 00/0 : 0[0] -> 1[1] via P2P\n", 10_000) + strings.Repeat("x", 100_000) + "\n"
	for step := range 5 {
		log += fmt.Sprintf("knee: {\"step\":%d,\"step_time_s\":0.5}\n", step)
	}
	if p, err := joblog.Read(strings.NewReader(log), "job.log", data.Config{Workers: 1}, data.Metrics{}, nil); err != nil || p.Measurement.StepTime != .5 {
		t.Errorf("%+v, %v", p, err)
	}
}

// Damaged gzip data is reported once, by the file's own error.
func TestReadOfDamagedData(t *testing.T) {
	damaged := &data.InputError{Source: data.Source{File: "job.log.gz"}, Found: "damaged gzip data", Want: "the whole file"}
	if _, err := joblog.Read(iotest.ErrReader(damaged), "job.log.gz", data.Config{Workers: 1}, data.Metrics{}, nil); err != error(damaged) {
		t.Errorf("%v, want %v", err, damaged)
	}
}

// An editor counts a line where there is a line feed: not twice where a carriage return stands
// before it, and not for every state of a progress bar.
func TestReadNumbersLines(t *testing.T) {
	bad := `knee: {"step":3,"step_time_s":-3}`
	for log, want := range map[string]int{
		"one\ntwo\n" + bad:     3,
		"one\r\ntwo\r\n" + bad: 3,
		"a\rb\rc\n" + bad:      2,
		"a\rb\r" + bad:         1,
	} {
		_, err := joblog.Read(strings.NewReader(log), "job.log", data.Config{Workers: 1}, data.Metrics{JSONL: true}, nil)
		var input *data.InputError
		if !errors.As(err, &input) || input.Line != want {
			t.Errorf("%q: %v, want line %d", log, err, want)
		}
	}
}

// An evaluation that takes longer than the training before it stands inside the bar of the
// training; batches stand inside a bar of epochs.
func TestReadOfBarsInsideOthers(t *testing.T) {
	for name, c := range map[string]struct{ outer, inner, every, times int }{
		"evaluation": {3000, 400, 20, 10}, "epochs": {10, 500, 1, 5},
	} {
		var log strings.Builder
		at := time.Date(2025, 3, 1, 12, 0, 0, 0, time.UTC)
		draw := func(step, total int, wait time.Duration) {
			at = at.Add(wait)
			fmt.Fprintf(&log, "%s %d/%d\n", at.Format("2006-01-02T15:04:05.000Z07:00"), step, total)
		}
		for i := range c.every * c.times {
			draw(i, c.outer, 100*time.Millisecond)
			for j := 0; i%c.every == c.every-1 && j < c.inner; j++ {
				draw(j+1, c.inner, 50*time.Millisecond)
			}
		}
		p, err := joblog.Read(strings.NewReader(log.String()), "job.log", data.Config{Job: "a", Workers: 1, LocalBatch: 4},
			data.Metrics{Regex: `(?P<step>\d+)/(?P<total_steps>\d+)`}, nil)
		step := map[string]float64{"evaluation": 199, "epochs": 500}[name]
		if err != nil || p.Step != step || p.Measurement.Steps < 100 {
			t.Errorf("%s: step %g after %d steps of %g s, %v; want the longer bar, at %g", name, p.Step, p.Measurement.Steps, p.Measurement.StepTime, err, step)
		}
	}
}

// A bar whose end is not drawn is not around the next one.
func TestReadOfBarsWithoutTheirEnds(t *testing.T) {
	var log strings.Builder
	at := time.Date(2025, 3, 1, 12, 0, 0, 0, time.UTC)
	draw := func(first, total, every int, wait time.Duration) {
		for i := first; i < total; i += every {
			at = at.Add(time.Duration(every) * wait)
			fmt.Fprintf(&log, "%s %d/%d\n", at.Format("2006-01-02T15:04:05.000Z07:00"), i, total)
		}
	}
	for range 6 {
		draw(7, 100, 7, time.Second)
		draw(7, 400, 8, 20*time.Millisecond)
	}
	p, err := joblog.Read(strings.NewReader(log.String()), "job.log", data.Config{Job: "a", Workers: 1, LocalBatch: 4},
		data.Metrics{Regex: `(?P<step>\d+)/(?P<total_steps>\d+)`}, nil)
	if err != nil || p.Step != 98 || math.Abs(p.Measurement.StepTime-1) > .01 {
		t.Errorf("step %g, %g s, %v; want the training's 1 s", p.Step, p.Measurement.StepTime, err)
	}
}

// The ranks of a log that marks them are told apart.
func TestReadOfMarkedRanks(t *testing.T) {
	for _, mark := range []string{"[worker %d] ", "[rank%d]: ", "[default%d]:"} {
		var log strings.Builder
		for i := range 40 {
			for r := range 4 {
				fmt.Fprintf(&log, mark+"knee: {\"step\": %d, \"step_time_s\": %g}\n", r, i+1, 1+float64(r))
			}
		}
		ranks := map[int]int{}
		p, err := joblog.Read(strings.NewReader(log.String()), "job.log", data.Config{Job: "a", Workers: 4, LocalBatch: 4}, data.Metrics{}, func(o launch.Observation) { ranks[o.Rank]++ })
		if err != nil || p.Measurement.StepTime != 1 || len(ranks) != 4 {
			t.Errorf("%q: %g s, ranks %v, %v; want that of rank 0 of 4", mark, p.Measurement.StepTime, ranks, err)
		}
	}
}

// Where the clock was set back, the time of the job is not known.
func TestReadOfAClockThatWasSetBack(t *testing.T) {
	var log strings.Builder
	at := time.Date(2025, 10, 26, 2, 59, 0, 0, time.UTC)
	for i := range 100 {
		if at = at.Add(time.Second); i == 70 {
			at = at.Add(-time.Hour)
		}
		fmt.Fprintf(&log, "%s step %d\n", at.Format(time.DateTime), i)
	}
	p, err := joblog.Read(strings.NewReader(log.String()), "job.log", data.Config{Job: "a", Workers: 1, LocalBatch: 4}, data.Metrics{Regex: `step (?P<step>\d+)`}, nil)
	if m := p.Measurement; err != nil || m.StepTime != 1 || m.Wall != 0 {
		t.Errorf("%+v, %v; want steps of 1 s", m, err)
	}
}

// Two bars with counters alone: the shorter one of validation comes first, and again after
// every epoch; it must not take the place of the longer one when it is back.
func TestReadBarsInTurn(t *testing.T) {
	var log strings.Builder
	at := time.Date(2025, 3, 1, 12, 0, 0, 0, time.UTC)
	draw := func(total int) {
		for i := range total {
			at = at.Add(time.Second)
			fmt.Fprintf(&log, "%s %d/%d\n", at.Format(time.DateTime), i+1, total)
		}
	}
	for range 3 {
		draw(2)
		draw(50)
	}
	p, err := joblog.Read(strings.NewReader(log.String()), "job.log", data.Config{Job: "a", Workers: 1, LocalBatch: 4},
		data.Metrics{Regex: `(?P<step>\d+)/(?P<total_steps>\d+)`}, nil)
	if m := p.Measurement; err != nil || m.StepTime != 1 || m.Steps < 100 {
		t.Errorf("%+v, %v, %v; want more than 100 steps of 1 s", m, p.Untimed, err)
	}
}
