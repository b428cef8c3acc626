package speed

import (
	"context"
	"encoding/json"
	"math"
	"slices"
	"strings"
	"testing"

	"knee/data"
)

func boundRows() (at func(k int) data.Config, ms []data.Measurement) {
	at = func(k int) data.Config {
		return data.Config{Job: "job", GPUType: "a100", Mode: data.AllReduce, Workers: k, Nodes: (k + 7) / 8, LocalBatch: 32}
	}
	for _, k := range []int{1, 2, 4, 8} {
		ms = append(ms, data.Measurement{Config: at(k), StepTime: .1 + .002*math.Log2(float64(k)), Status: data.OK})
	}
	return at, ms
}

func stoppedAt(c data.Config, seconds float64) data.Measurement {
	return data.Measurement{Config: c, StepTime: seconds, Status: data.Timeout}
}

// A job measured on one node: the network between nodes may be slow, and runs there
// that a time limit ended say that it is.
func TestLowerBounds(t *testing.T) {
	at, ms := boundRows()
	fit := func(s Settings, ms ...data.Measurement) *Model {
		m, err := Fit(context.Background(), ms, s)
		if err != nil {
			t.Fatal(err)
		}
		return m
	}
	predict := func(m *Model, k int) Prediction {
		p, err := m.Predict(at(k))
		if err != nil {
			t.Fatal(err)
		}
		return p
	}
	plain := fit(Settings{}, ms...)
	before := predict(plain, 32)
	bounded := fit(Settings{}, append(ms, stoppedAt(at(16), .3), stoppedAt(at(32), .3), stoppedAt(at(64), .3))...)
	p := predict(bounded, 32)
	if before.StepTime.Mean > .2 || p.StepTime.Mean < .3 || p.StepTime.Hi < .6 || p.StepTime.Lo > .3 {
		t.Errorf("at 32 workers %+v, want about .3 s or more; without the bounds %+v", p.StepTime, before.StepTime)
	}
	if !p.Extrapolated || p.Support != 4 || len(bounded.Measurements("a100", data.AllReduce)) != 4 {
		t.Errorf("the bounds count as measurements: %+v", p)
	}
	if p := predict(bounded, 16); p.StepTime.Lo < .3 || p.Expected < .3 {
		t.Errorf("at 16 workers %+v, at least .3 s", p)
	}
	if p := predict(bounded, 4); math.Abs(p.StepTime.Mean/.104-1) > .1 {
		t.Errorf("at 4 workers %+v, measured .104 s", p.StepTime)
	}
	if !slices.ContainsFunc(bounded.Warnings(), func(w string) bool { return strings.Contains(w, "lower bounds of ") }) {
		t.Errorf("warnings %q", bounded.Warnings())
	}
	text, err := json.Marshal(bounded)
	if err != nil {
		t.Fatal(err)
	}
	again, err := Restore(text, "job", 0)
	if err != nil {
		t.Fatal(err)
	}
	if q := predict(again, 32); q != p {
		t.Errorf("restored %+v, want %+v", q, p)
	}
	// What changes nothing: a bound below the prediction, and hangs, of which those
	// that nothing explains are warned of, whatever the family.
	for _, tc := range []struct {
		name, family string
		stopped      data.Measurement
		warn         bool
	}{
		{"below the prediction", "", stoppedAt(at(32), .05), false},
		{"of a measured configuration", "", stoppedAt(at(8), 60), true},
		{"ten minutes a step", "", stoppedAt(at(16), 600), true},
		{"under a published family", "amdahl", stoppedAt(at(32), 1), true},
	} {
		s := Settings{Family: tc.family}
		with := fit(s, append(slices.Clone(ms), tc.stopped)...)
		if a, b := predict(with, 32), predict(fit(s, ms...), 32); a != b {
			t.Errorf("%s: changes the prediction from %+v to %+v", tc.name, b, a)
		}
		if got := slices.ContainsFunc(with.Warnings(), func(w string) bool { return strings.Contains(w, "as a hang would") }); got != tc.warn {
			t.Errorf("%s: warnings %q", tc.name, with.Warnings())
		}
	}
}

// The longest bound of each configuration counts, of the group's mode and types.
func TestWhichLowerBounds(t *testing.T) {
	at, ms := boundRows()
	g, err := newGroup(ms, Settings{})
	if err != nil {
		t.Fatal(err)
	}
	other, servers, none := at(16), at(16), stoppedAt(at(128), 0)
	other.GPUType, servers.Mode, servers.PS = "h100", data.PSSync, 1
	got := g.lowerBounds([]data.Measurement{stoppedAt(at(16), 1), stoppedAt(at(32), 4), stoppedAt(at(16), 3), stoppedAt(at(16), 2),
		stoppedAt(other, 9), stoppedAt(servers, 9), none})
	if len(got) != 2 || got[0].Workers != 16 || got[0].StepTime != 3 || got[1].Workers != 32 {
		t.Errorf("bounds %+v; want 3 s of 16 workers and 4 s of 32", got)
	}
	share, mean, variance := above([]float64{-1, 0, 1, 2, 3}, .5)
	if share != .6 || mean != 2 || variance != 1 {
		t.Errorf("above .5: share %g, mean %g, variance %g; want .6, 2 and 1", share, mean, variance)
	}
}
