package launch_test

import (
	"fmt"
	"math"
	"strings"
	"testing"

	"knee/data"
	"knee/profile/launch"
)

func TestParsers(t *testing.T) {
	nan := math.NaN()
	for _, tc := range []struct {
		name, regex, line      string
		ok                     bool
		step, time, rate, loss float64
	}{
		{name: "plain", line: `knee: {"step":12,"step_time_s":0.041,"loss":2.1}`, ok: true, step: 12, time: .041, rate: nan, loss: 2.1},
		{name: "prefixed by torchrun", line: `[default0]:knee: {"throughput":120}`, ok: true, step: nan, time: nan, rate: 120, loss: nan},
		{name: "a diverged loss", line: `knee: {"step": 3, "step_time_s": 0.5, "loss": NaN, "grad_sqr": -Infinity}`, ok: true, step: 3, time: .5, rate: nan, loss: nan},
		{name: "not finite, which knee does not read", line: `knee: {"step": 3, "step_time_s": 0.5, "val/acc": NaN}`, ok: true, step: 3, time: .5, rate: nan, loss: nan},
		{name: "in ms", line: `knee: {"step": 3, "step_time_ms": 41.5}`, ok: true, step: 3, time: .0415, rate: nan, loss: nan},
		{name: "steps per second", line: `knee: {"step": 3, "steps_per_s": 4, "loss": 2, "epoch": 1}`, ok: true, step: 3, time: .25, rate: nan, loss: 2},
		{name: "two ranks on a line", line: `[0]:knee: {"step":7,"step_time_s":0.5}[1]:knee: {"step":7,"step_time_s":0.6}`, ok: true, step: 7, time: .5, rate: nan, loss: nan},
		{name: "two ranks on a line, not finite", line: `knee: {"step":7,"step_time_s":0.5,"loss":NaN}knee: {"step":7,"step_time_s":0.6,"loss":NaN}`, ok: true, step: 7, time: .5, rate: nan, loss: nan},
		{name: "a note that contains knee:", line: `knee: {"step":7,"step_time_s":0.5,"note":"see knee: docs"}`, ok: true, step: 7, time: .5, rate: nan, loss: nan},
		{name: "text of another rank behind it", line: `knee: {"step":7,"step_time_s":0.5,"note":{"a":1}}INFO {rank 1}: done`, ok: true, step: 7, time: .5, rate: nan, loss: nan},
		{name: "two ranks on a line, one cut", line: `knee: {"step": 2knee: {"step": 22, "step_time_s": 0.5}`},
		{name: "a message", line: `knee: starting`, step: nan},
		{name: "other output", line: `Epoch 3`, step: nan},
		{name: "regex", regex: `images/sec: (?P<throughput>[0-9.,]+)`, line: `10 images/sec: 1,234.5 +/- 0.1`, ok: true, step: nan, time: nan, rate: 1234.5, loss: nan},
		{name: "regex in ms", regex: `step (?P<step>\d+).*?(?P<step_time_ms>[\d.]+) ms`, line: `step 7 took 41.5 ms`, ok: true, step: 7, time: .0415, rate: nan, loss: nan},
	} {
		t.Run(tc.name, func(t *testing.T) {
			p, err := launch.NewParser(data.Metrics{Regex: tc.regex})
			if err != nil {
				t.Fatal(err)
			}
			o, ok, err := p.Parse(tc.line)
			if err != nil || ok != tc.ok {
				t.Fatalf("ok = %v, err = %v; want %v", ok, err, tc.ok)
			}
			if !ok {
				return
			}
			for _, v := range [][2]float64{{o.Step, tc.step}, {o.StepTime, tc.time}, {o.Throughput, tc.rate}, {o.Loss, tc.loss}} {
				if v[0] != v[1] && !(math.IsNaN(v[0]) && math.IsNaN(v[1])) {
					t.Errorf("got %+v", o)
				}
			}
		})
	}
}

// A number is rounded to its last digit.
func TestParserTellsRounding(t *testing.T) {
	p, err := launch.NewParser(data.Metrics{Regex: `took (?P<step_time_s>\S+)`})
	if err != nil {
		t.Fatal(err)
	}
	for text, want := range map[string]float64{"0.041": .001 / .041, "2": .5, "2e-02": .5, "1.5E-3": 1. / 15, "1,000.5": .1 / 1000.5} {
		if o, ok, err := p.Parse("took " + text); !ok || err != nil || math.Abs(o.Rounding/want-1) > 1e-9 {
			t.Errorf("%s: %v, %v; want a share of %g", text, o.Rounding, err, want)
		}
	}
}

func TestParserRefusesExpressions(t *testing.T) {
	for regex, want := range map[string]string{
		"(":                    "missing closing",
		"(?P<speed>.*)":        `found group "speed", want groups named step, `,
		"loss (?P<loss>[0-9])": `found "loss (?P<loss>[0-9])", want a group such as (?P<step_time_s>…)`,
	} {
		_, err := launch.NewParser(data.Metrics{Regex: regex})
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: err = %v, want …%s…", regex, err, want)
		}
	}
}

// An impossible value is an error that contains it.
func TestParserRefuses(t *testing.T) {
	for line, want := range map[string]string{
		`knee: {"step":1,"step_time_s":1e307}`: "step_time_s: found 1e+307, want seconds > 0, at most 1000000000",
		`knee: {"step":"1","x":{}}`:            `step: found "1", want a number`,
		`knee: {"step":-1}`:                    "step: found -1, want a step ≥ 0",
		`knee: {"step":1,"step_time_s":NaN}`:   "step_time_s: found NaN, want seconds > 0",
		`knee: {"step_time_ms":Infinity}`:      "step_time_s: found +Inf, want seconds > 0, at most 1000000000",
		`knee: {"step":2,"throughput":NaN}`:    "throughput: found NaN, want samples/s > 0",
		`time nan s`:                           "step_time_s: found NaN, want seconds > 0",
		`knee: {"step":1_000}`:                 "not an observation",
		`knee: {"step":0x10}`:                  "not an observation",
		`time 1e300 s`:                         "step_time_s: found 1e+300",
	} {
		m := data.Metrics{JSONL: true}
		if !strings.HasPrefix(line, "knee") {
			m = data.Metrics{Regex: `time (?P<step_time_s>\S+) s`}
		}
		p, err := launch.NewParser(m)
		if err != nil {
			t.Fatal(err)
		}
		if o, _, err := p.Parse(line); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %+v, %v, want …%s…", line, o, err, want)
		}
	}
}

func FuzzJSONLines(f *testing.F) {
	f.Add(`knee: {"step":12,"step_time_s":0.041,"loss":2.1}`)
	f.Add(`knee: {"step_time_s":1e999}`)
	f.Add(`knee: {`)
	p, err := launch.NewParser(data.Metrics{})
	if err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, line string) {
		o, ok, err := p.Parse(line)
		if ok && err != nil {
			t.Errorf("%q is both an observation and an error", line)
		}
		if ok && (o.StepTime <= 0 || math.IsInf(o.StepTime, 0)) {
			t.Errorf("%q passed with step time %g", line, o.StepTime)
		}
	})
}

func TestReplay(t *testing.T) {
	ok := data.Measurement{Config: data.Config{Workers: 1}, StepTime: 2, StepTimeSD: .5, Status: data.OK}
	oom := data.Measurement{Config: data.Config{Workers: 2}, Status: data.OOM, Error: "too big", GPUMemory: 8}
	slow := data.Measurement{Config: data.Config{Workers: 4}, Status: data.Timeout, StepTime: 60}
	r, err := launch.NewReplay([]data.Measurement{ok, oom, slow})
	if err != nil {
		t.Fatal(err)
	}
	obs := make(chan launch.Observation, 1000)
	if err := r.Launch(t.Context(), launch.Trial{Config: ok.Config}, obs); err != nil {
		t.Fatal(err)
	}
	var sum float64
	n := len(obs)
	for range n {
		sum += (<-obs).StepTime
	}
	if mean := sum / float64(n); math.Abs(mean-2) > 1e-9 {
		t.Errorf("mean replayed step time = %g, want 2", mean)
	}
	var device float64
	err = r.Launch(t.Context(), launch.Trial{Config: oom.Config, Used: func(_, d float64) { device = d }}, obs)
	if f, ok := err.(*launch.Failure); !ok || f.Status != data.OOM || f.Detail != "too big" || device != 8 {
		t.Errorf("err = %v, %g bytes, want the recorded failure and 8", err, device)
	}
	err = r.Launch(t.Context(), launch.Trial{Config: slow.Config}, obs)
	if f, ok := err.(*launch.Failure); !ok || f.Status != data.Timeout || f.Bound != 60 {
		t.Errorf("err = %v, want a step of at least 60 s", err)
	}
	if err := r.Launch(t.Context(), launch.Trial{Config: data.Config{Workers: 3}}, obs); err == nil {
		t.Error("a configuration outside the table was answered")
	}
	if _, err := launch.NewReplay([]data.Measurement{ok, ok}); err == nil {
		t.Error("two rows for one configuration were accepted")
	}
	one, two := slow, slow
	one.Nodes, two.Nodes = 1, 2
	for n, ms := range [][]data.Measurement{{one}, {one, two}} {
		if r, err = launch.NewReplay(ms); err != nil {
			t.Fatal(err)
		}
		err = r.Launch(t.Context(), launch.Trial{Config: slow.Config}, obs)
		if f, ok := err.(*launch.Failure); !ok || (f.Status == data.Timeout) != (n == 0) {
			t.Errorf("on open nodes, of %d rows with nodes: %v", len(ms), err)
		}
	}
}

// scan reads lines of numbers only, with the same result as package json.
func TestLinesOfNumbers(t *testing.T) {
	p, err := launch.NewParser(data.Metrics{JSONL: true})
	if err != nil {
		t.Fatal(err)
	}
	for _, body := range []string{`{"step":12,"step_time_s":0.041,"loss":2.1}`, `{ "step" : 12 , "loss" : -1e-3 }`, `{"step":1}`} {
		fast, ok, err := p.Parse("knee: " + body)
		slow, _, _ := p.Parse("knee: " + strings.TrimSuffix(body, "}") + `,"note":"x"}`)
		if !ok || err != nil || fmt.Sprint(fast) != fmt.Sprint(slow) {
			t.Errorf("%s: %+v, %v; want %+v", body, fast, err, slow)
		}
	}
	for _, body := range []string{`{"step":0x1}`, `{"step":}`, `{"step":1`, `{"step":1,}`, `{"step":1}}`, `{"step":"1"}`, `{"step_time_s":-1}`, `{step:1}`, `{"step":+1}`} {
		if _, ok, err := p.Parse("knee: " + body); ok || err == nil {
			t.Errorf("%s was read", body)
		}
	}
}
