package launch

import (
	"encoding/json"
	"fmt"
	"math"
	"regexp"
	"strings"
)

// linePrefix marks the lines that training scripts print for knee.
const linePrefix = "knee:"

// jsonl reads lines `knee: {"step":12,"step_time_s":0.041,"loss":2.1}`. The
// mark may stand anywhere in the line, so that lines which a launcher or a
// logging framework has prefixed are read too.
type jsonl struct{}

// notFinite matches what Python's json writes for the loss of a run that has
// diverged, which is no JSON and no reason to end a trial of its speed.
var notFinite = regexp.MustCompile(`(:\s*)(?:NaN|-?Infinity)`)

// record is one line; unknown fields are ignored so that scripts may print
// more than knee reads.
type record struct {
	Step       *float64 `json:"step"`
	StepTime   *float64 `json:"step_time_s"`
	SyncTime   *float64 `json:"sync_time_s"`
	Throughput *float64 `json:"throughput"`
	Loss       *float64 `json:"loss"`
	GradSqr    *float64 `json:"grad_sqr"`
	GradVar    *float64 `json:"grad_var"`
}

// Wants implements Parser.
func (jsonl) Wants() string {
	return `lines such as 'knee: {"step":1,"step_time_s":0.04,"loss":2.1}', or metrics: {regex: …} for what it prints instead`
}

// Parse implements Parser.
func (jsonl) Parse(line string) (Observation, bool, error) {
	i := strings.Index(line, linePrefix)
	if i < 0 {
		return Observation{}, false, nil
	}
	text := strings.TrimSpace(line[i+len(linePrefix):])
	if !strings.HasPrefix(text, "{") {
		return Observation{}, false, nil // a message of knee's own, or prose
	}
	var r record
	err := json.Unmarshal([]byte(text), &r)
	if err != nil && notFinite.MatchString(text) {
		err = json.Unmarshal(notFinite.ReplaceAll([]byte(text), []byte("${1}null")), &r)
	}
	if err != nil {
		return Observation{}, false, fmt.Errorf("%.120q is not an observation: %w", text, err)
	}
	o := unseen()
	for _, f := range []struct {
		name string
		from *float64
		to   *float64
		min  float64
	}{
		{"step", r.Step, &o.Step, 0}, {"step_time_s", r.StepTime, &o.StepTime, math.SmallestNonzeroFloat64},
		{"sync_time_s", r.SyncTime, &o.SyncTime, 0}, {"throughput", r.Throughput, &o.Throughput, math.SmallestNonzeroFloat64},
		{"loss", r.Loss, &o.Loss, math.Inf(-1)}, {"grad_sqr", r.GradSqr, &o.GradSqr, math.Inf(-1)}, {"grad_var", r.GradVar, &o.GradVar, math.Inf(-1)},
	} {
		if f.from == nil {
			continue
		}
		if *f.from < f.min {
			return Observation{}, false, fmt.Errorf("%.120q: %s is %g, want a positive number", text, f.name, *f.from)
		}
		*f.to = *f.from
	}
	return o, true, nil
}
