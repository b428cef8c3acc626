package speed_test

import (
	"context"
	"fmt"
	"math"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"knee/data"
	"knee/fit/speed"
)

// resumable are measurements whose models average different members.
func resumable() map[string][]data.Measurement {
	row := func(gpu string, k int, step float64) data.Measurement {
		return data.Measurement{Status: data.OK, StepTime: step, Config: data.Config{Job: "j", GPUType: gpu, Workers: k, Nodes: (k + 3) / 4, LocalBatch: 32}}
	}
	all := map[string][]data.Measurement{}
	for i, k := range []int{1, 2, 4, 8} {
		t := .2 + .01*float64(i)
		all["limits of the form"] = append(all["limits of the form"], row("t4", k, t))
		all["two GPU types"] = append(all["two GPU types"], row("t4", k, t), row("a100", k, t/4))
		knob := row("t4", k, t*float64(1+i%2))
		knob.Extra = map[string]string{"width": fmt.Sprint(64 << (i % 2)), "kind": string(rune('a' + i%3))}
		all["knobs"] = append(all["knobs"], knob)
		timed := row("t4", k, t)
		timed.SyncTime = .01 * float64(i)
		all["timers"] = append(all["timers"], timed)
		layout := row("a100", 8, t)
		layout.TP = k
		all["layouts"] = append(all["layouts"], layout)
		servers := row("cpu", k, t)
		servers.Mode, servers.PS = data.PSSync, 1+i%2
		all["servers"] = append(all["servers"], servers)
	}
	return all
}

// A model read back predicts the same from the posterior in the file; other
// draws predict differently, and a posterior of other measurements is not used.
func TestResumedModelPredictsTheSame(t *testing.T) {
	for name, ms := range resumable() {
		m, err := speed.Fit(context.Background(), ms, speed.Settings{Seed: 3})
		if err != nil {
			t.Fatal(name, err)
		}
		text, err := m.MarshalJSON()
		if err != nil {
			t.Fatal(err)
		}
		ask := ms[len(ms)-1].Config
		ask.Workers, ask.Nodes = 16, 4
		predict := func(text string) speed.Prediction {
			back, err := speed.Restore([]byte(text), "j", 3)
			if err != nil {
				t.Fatal(name, err)
			}
			p, err := back.Predict(ask)
			if err != nil {
				t.Fatal(name, err)
			}
			return p
		}
		want, err := m.Predict(ask)
		if err != nil {
			t.Fatal(err)
		}
		if got := predict(string(text)); got != want {
			t.Errorf("%s: %+v became %+v", name, want, got)
		}
		// A file of before has no nodes: they are drawn again.
		if before := regexp.MustCompile(`"nodes":\[[^]]*\],`).ReplaceAllString(string(text), ""); before == string(text) || predict(before) != want {
			t.Errorf("%s: without nodes %+v became %+v", name, want, predict(before))
		}
		once := regexp.MustCompile(`"proposals":\[[^]]*\]`).ReplaceAllStringFunc(string(text), func(list string) string {
			every := make([]string, strings.Count(list, ",")+1) // 128 or 256 of the 512 proposals
			for i := range every {
				every[i] = strconv.Itoa(i * 512 / len(every))
			}
			return `"proposals":[` + strings.Join(every, ",") + `]`
		})
		if got := predict(once); got == want || math.Abs(got.StepTime.Mean/want.StepTime.Mean-1) > .5 {
			t.Errorf("%s: with draws of equal weight %+v, with weights %+v", name, got, want)
		}
		for what, change := range map[string]string{
			"no posterior":     regexp.MustCompile(`"posterior":\[.*?\],"measurements"`).ReplaceAllString(once, `"measurements"`),
			"another mode":     regexp.MustCompile(`"z":\[`).ReplaceAllString(once, `"z":[9,`),
			"draws of nothing": strings.ReplaceAll(once, `"proposals":[0`, `"proposals":[-1`),
			"nodes of nothing": regexp.MustCompile(`"nodes":\[[0-9]+,`).ReplaceAllString(once, `"nodes":[-1,`),
			"too few nodes":    regexp.MustCompile(`"nodes":\[[0-9]+,`).ReplaceAllString(once, `"nodes":[`),
		} {
			if got := predict(change); change == once || got != want {
				t.Errorf("%s, %s: predicts %+v, a new fit %+v", name, what, got.StepTime, want.StepTime)
			}
		}
		other := strings.Replace(once, `"step_time_s":0.2`, `"step_time_s":0.2002`, 1)
		ms[0].StepTime = .2002
		if m, err = speed.Fit(context.Background(), ms, speed.Settings{Seed: 3}); err != nil {
			t.Fatal(err)
		}
		if want, err = m.Predict(ask); err != nil || predict(other) != want {
			t.Errorf("%s, other measurements: predicts %+v, a new fit %+v", name, predict(other).StepTime, want.StepTime)
		}
	}
}
