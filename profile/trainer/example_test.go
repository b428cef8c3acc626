package trainer_test

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"strings"

	"knee/profile/trainer"
)

// Train the small model for a hundred steps in this process and read the
// lines it prints, as a profiler does.
func Example() {
	var out strings.Builder
	err := trainer.Run(context.Background(), trainer.Options{LocalBatch: 16, Steps: 100, Seed: 1}, &out, io.Discard)
	if err != nil {
		fmt.Println(err)
		return
	}
	var first, last struct {
		Step int     `json:"step"`
		Loss float64 `json:"loss"`
	}
	lines := strings.Split(strings.TrimSpace(out.String()), "\n")
	for _, r := range []struct {
		line string
		into any
	}{{lines[0], &first}, {lines[len(lines)-1], &last}} {
		if err := json.Unmarshal([]byte(strings.TrimPrefix(r.line, "knee: ")), r.into); err != nil {
			fmt.Println(err)
			return
		}
	}
	fmt.Printf("steps %d to %d, loss fell: %t\n", first.Step, last.Step, last.Loss < first.Loss)
	// Output: steps 1 to 100, loss fell: true
}
