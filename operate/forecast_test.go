package operate_test

import (
	"encoding/json"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"knee/operate"
	"knee/operate/queue"
)

// TestForecasts compares the forecasts in the turns of a folder with the ends of
// jobs: the first forecast after a job was measured on its nodes, and the very
// first, which uses the model of its rule. KNEE_ENDS has a line for each job: name,
// id and time in seconds. At least 85 % of the ends should lie in the 90 % intervals
// of the former.
func TestForecasts(t *testing.T) {
	turns, ends := os.Getenv("KNEE_TURNS"), os.Getenv("KNEE_ENDS")
	if turns == "" {
		t.Skip("no turns; test/integration/operate.sh makes some and sets KNEE_TURNS")
	}
	ended := map[string]float64{}
	text, err := os.ReadFile(ends)
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(text)) {
		var name, id string
		var at float64
		if _, err := fmt.Sscan(line, &name, &id, &at); err != nil {
			t.Fatalf("%s: %q: %v", ends, line, err)
		}
		ended[id] = at
	}
	var first, measured score
	folders, _ := filepath.Glob(filepath.Join(turns, "0*"))
	for _, folder := range folders {
		at, rows := readTurn(t, folder)
		for _, r := range rows {
			if end := ended[r.ID]; end > 0 && r.Finish.Mean > 0 {
				left := end - float64(at.UnixNano())/1e9
				first.add(r, left)
				if r.StepTime > 0 {
					measured.add(r, left)
				}
			}
		}
	}
	t.Logf("first forecast of all: %s", first)
	t.Logf("first after the job was measured: %s", measured)
	if measured.jobs < 20 || float64(measured.held) < .85*float64(measured.jobs) {
		t.Errorf("want 20 jobs, and 85 %% of them in their interval")
	}
}

// score counts forecasts whose interval contains the end.
type score struct {
	seen             map[string]bool
	jobs, held, near int
	off              float64
}

func (s *score) add(r queue.Row, left float64) {
	if s.seen == nil {
		s.seen = map[string]bool{}
	}
	if s.seen[r.ID] {
		return
	}
	s.seen[r.ID] = true
	s.jobs++
	if left >= r.Finish.Lo && left <= r.Finish.Hi {
		s.held++
	}
	e := math.Abs(r.Finish.Mean/left - 1)
	if s.off += e; e <= .1 {
		s.near++
	}
}

func (s score) String() string {
	return fmt.Sprintf("%d of %d ends in the 90 %% interval, %d within 10 %% of the point, mean error %.1f %%", s.held, s.jobs, s.near, 100*s.off/float64(max(1, s.jobs)))
}

// readTurn reads when a turn began, and its queue.
func readTurn(t *testing.T, folder string) (time.Time, []queue.Row) {
	t.Helper()
	var out operate.Outcome
	var rows []queue.Row
	for name, v := range map[string]any{"outcome.json": &out, "queue.json": &rows} {
		text, err := os.ReadFile(filepath.Join(folder, name))
		if os.IsNotExist(err) { // the turn in which knee was stopped
			return time.Time{}, nil
		}
		if err == nil {
			err = json.Unmarshal(text, v)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	return out.Read, rows
}
