package trainer

import (
	"encoding/json"
	"fmt"
	"io"
	"math"
)

// record is one optimizer step as it is printed. NaN means not known.
type record struct {
	step     int
	stepTime float64 // seconds
	syncTime float64 // seconds
	loss     float64
	gradSqr  float64
	gradVar  float64
}

// MarshalJSON leaves out what is not known: JSON has no NaN.
func (r record) MarshalJSON() ([]byte, error) {
	known := func(v float64) *float64 {
		if math.IsNaN(v) || math.IsInf(v, 0) {
			return nil
		}
		return &v
	}
	return json.Marshal(struct {
		Step     int      `json:"step"`
		StepTime *float64 `json:"step_time_s,omitempty"`
		SyncTime *float64 `json:"sync_time_s,omitempty"`
		Loss     *float64 `json:"loss,omitempty"`
		GradSqr  *float64 `json:"grad_sqr,omitempty"`
		GradVar  *float64 `json:"grad_var,omitempty"`
	}{r.step, known(r.stepTime), known(r.syncTime), known(r.loss), known(r.gradSqr), known(r.gradVar)})
}

// print writes the line a profiler looks for, in one write so that a reader
// of the pipe never sees half of it.
func (r record) print(w io.Writer) error {
	b, err := json.Marshal(r)
	if err != nil {
		return fmt.Errorf("report of step %d: %w", r.step, err)
	}
	if _, err := fmt.Fprintf(w, "knee: %s\n", b); err != nil {
		return fmt.Errorf("printing step %d: %w", r.step, err)
	}
	return nil
}
