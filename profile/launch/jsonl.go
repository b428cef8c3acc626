package launch

import (
	"encoding/json"
	"fmt"
	"regexp"
	"strconv"
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
	Rank       *int     `json:"rank"`
	Step       *float64 `json:"step"`
	StepTime   *float64 `json:"step_time_s"`
	SyncTime   *float64 `json:"sync_time_s"`
	Throughput *float64 `json:"throughput"`
	Loss       *float64 `json:"loss"`
	GradSqr    *float64 `json:"grad_sqr"`
	GradVar    *float64 `json:"grad_var"`
	PeakMemory *float64 `json:"peak_memory_bytes"`
}

// scan reads an object that holds nothing but numbers, as nearly every line
// does, without the cost of reading JSON. It returns false for any other.
func (r *record) scan(text string) bool {
	text = strings.TrimPrefix(text, "{")
	for more := true; more; {
		var key, value string
		var found bool
		if key, text, found = strings.Cut(text, ":"); !found {
			return false
		}
		if value, text, more = strings.Cut(text, ","); !more {
			if value, found = strings.CutSuffix(value, "}"); !found {
				return false
			}
		}
		value = strings.TrimSpace(value)
		if value == "" || strings.Trim(value, "0123456789.eE+-") != "" || strings.Trim(value[:1], "-0123456789") != "" {
			return false
		}
		v, err := strconv.ParseFloat(value, 64)
		if err != nil {
			return false
		}
		switch strings.TrimSpace(key) {
		case `"step"`:
			r.Step = &v
		case `"step_time_s"`:
			r.StepTime = &v
		case `"sync_time_s"`:
			r.SyncTime = &v
		case `"throughput"`:
			r.Throughput = &v
		case `"loss"`:
			r.Loss = &v
		case `"grad_sqr"`:
			r.GradSqr = &v
		case `"grad_var"`:
			r.GradVar = &v
		case `"peak_memory_bytes"`:
			r.PeakMemory = &v
		default:
			return false
		}
	}
	return true
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
	var err error
	if !r.scan(text) {
		r = record{}
		err = json.Unmarshal([]byte(text), &r)
	}
	if err != nil && notFinite.MatchString(text) {
		err = json.Unmarshal(notFinite.ReplaceAll([]byte(text), []byte("${1}null")), &r)
	}
	if err != nil {
		return Observation{}, false, fmt.Errorf("%.120q is not an observation: %w", text, err)
	}
	o := unseen()
	if r.Rank != nil {
		o.Rank = max(*r.Rank, UnknownRank)
	}
	for _, f := range []struct {
		name string
		from *float64
		to   *float64
	}{
		{"step", r.Step, &o.Step}, {"step_time_s", r.StepTime, &o.StepTime}, {"sync_time_s", r.SyncTime, &o.SyncTime}, {"throughput", r.Throughput, &o.Throughput},
		{"loss", r.Loss, &o.Loss}, {"grad_sqr", r.GradSqr, &o.GradSqr}, {"grad_var", r.GradVar, &o.GradVar},
		{"peak_memory_bytes", r.PeakMemory, &o.PeakMemory},
	} {
		if f.from == nil {
			continue
		}
		if *f.to, err = reported(f.name, *f.from); err != nil {
			return Observation{}, false, fmt.Errorf("%.120q: %w", text, err)
		}
	}
	return o, true, nil
}
