package trainer

import (
	"encoding/json"
	"fmt"
	"io"
	"math"
)

// record is the printed line of one optimizer step; unknown numbers are left
// out.
type record struct {
	Rank     *int  `json:"rank,omitempty"`
	Step     int   `json:"step"`
	StepTime known `json:"step_time_s,omitzero"`
	SyncTime known `json:"sync_time_s,omitzero"`
	Loss     known `json:"loss,omitzero"`
	GradSqr  known `json:"grad_sqr,omitzero"`
	GradVar  known `json:"grad_var,omitzero"`
}

// known is a number; NaN and infinities count as not known.
type known float64

func (k known) IsZero() bool { return math.IsNaN(float64(k)) || math.IsInf(float64(k), 0) }

// print writes the line for the profiler in one write, so that a reader of the
// pipe never gets half of it.
func (r record) print(w io.Writer) error {
	b, err := json.Marshal(r)
	if err == nil {
		_, err = fmt.Fprintf(w, "knee: %s\n", b)
	}
	if err != nil {
		return fmt.Errorf("printing step %d: %w", r.Step, err)
	}
	return nil
}
