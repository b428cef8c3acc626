package queue_test

import (
	"context"
	"io"
	"io/fs"
	"math"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"knee/data"
	"knee/operate/queue"
	"knee/operate/queuetest"
)

// Each look measures what the job did since the last one, where it runs now.
func TestObserve(t *testing.T) {
	f := queuetest.New("n1", "n2")
	j := f.Add("1", 2, data.NodeShare{Node: "n1", Workers: 2})
	j.Started = time.Unix(50, 0)
	readings := map[string]*queue.Reading{}
	look := func(at int64) queue.Row {
		t.Helper()
		snap, err := f.Read(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		v := queue.View{Rules: []data.JobRule{{Match: data.Match{Name: "job-*"}, Model: "m", Remaining: data.Remaining{Steps: 1000}}}, Readings: readings, Now: time.Unix(at, 0)}
		rows, warnings := v.Rows(t.Context(), f, snap)
		if len(warnings) > 0 {
			t.Errorf("at %d s: %q", at, warnings)
		}
		return rows[0]
	}
	expect := func(what string, r queue.Row, step, seconds float64) {
		t.Helper()
		if r.Step != step || math.Abs(r.StepTime-seconds) > 1e-9 || r.Entry.Remaining.Steps != 1000-step {
			t.Errorf("%s: step %g of %.6g s, %g to go; want %g, %g", what, r.Step, r.StepTime, r.Entry.Remaining.Steps, step, seconds)
		}
	}
	f.Logs["1"] = queuetest.Steps(1, 20, .5)
	expect("at first", look(100), 20, .5)
	if got := readings["1"].Pace; got != 2.5 {
		t.Errorf("a line every %g s, want 2.5", got)
	}
	expect("nothing new", look(110), 20, 0)
	f.Logs["1"] += queuetest.Steps(21, 2, 2) + `knee: {"step":23,"step_ti`
	expect("too few", look(120), 22, 0)
	f.Logs["1"] += "me_s\":2}\n" + queuetest.Steps(24, 20, 2)
	expect("slower, since", look(130), 43, 2)
	if told := readings["1"].Told; told.Unix() != 130 {
		t.Errorf("told at %v", told)
	}
	j.Nodes, j.Started = []data.NodeShare{{Node: "n2", Workers: 4}}, time.Unix(135, 0)
	f.Logs["1"] += queuetest.Steps(44, 30, 2) + queuetest.Steps(74, 10, .1)
	expect("moved: where the lines were printed is not known", look(140), 83, 0)
	f.Logs["1"] += queuetest.Steps(84, 10, .25)
	expect("on its new node", look(150), 93, .25)
	j.Restarts++
	j.Started = time.Unix(155, 0)
	f.Logs["1"] = queuetest.Steps(90, 8, .2) // begun anew, from a checkpoint
	expect("begun anew", look(160), 97, .2)
	f.Logs["1"] = ""
	expect("and empty", look(170), 97, 0)
}

// endless is a queue whose logs never end.
type endless struct{ *queuetest.Fake }

func (endless) Log(ctx context.Context, _ queue.Job, _ string, _ time.Time) (io.ReadCloser, error) {
	return io.NopCloser(waits{ctx}), nil
}

type waits struct{ context.Context }

func (w waits) Read([]byte) (int, error) {
	<-w.Done()
	return 0, w.Err()
}

// A log that does not end is left after a minute, with a warning.
func TestEndlessLog(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := queuetest.New("n1")
		f.Add("1", 1, data.NodeShare{Node: "n1", Workers: 1})
		snap, err := f.Read(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		began := time.Now()
		v := queue.View{Rules: []data.JobRule{{Model: "m", Remaining: data.Remaining{Steps: 1000}}}, Now: began}
		_, warnings := v.Rows(t.Context(), endless{f}, snap)
		if took := time.Since(began); took != time.Minute || len(warnings) != 1 || !strings.Contains(warnings[0], "deadline exceeded") {
			t.Errorf("%v, warnings %q", took, warnings)
		}
	})
}

// streams is a queue whose logs are streams from a point in time on.
type streams struct {
	*queuetest.Fake
	asked *[]time.Time
}

func (s streams) Log(_ context.Context, j queue.Job, _ string, since time.Time) (io.ReadCloser, error) {
	*s.asked = append(*s.asked, since)
	text, ok := s.Logs[j.ID]
	if !ok {
		return nil, fs.ErrNotExist
	}
	return io.NopCloser(strings.NewReader(text)), nil
}

func TestObserveStreams(t *testing.T) {
	var asked []time.Time
	s := streams{queuetest.New("n1"), &asked}
	s.Add("1", 2, data.NodeShare{Node: "n1", Workers: 2}).Started = time.Unix(50, 0)
	v := queue.View{Rules: []data.JobRule{{Match: data.Match{Name: "job-*"}, Model: "m"}}, Readings: map[string]*queue.Reading{}}
	for i, text := range []string{queuetest.Steps(1, 20, .5), queuetest.Steps(20, 1, .5), queuetest.Steps(20, 20, 1)} {
		v.Now, s.Logs["1"] = time.Unix(int64(100+10*i), 0), text
		snap, err := s.Read(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		rows, _ := v.Rows(t.Context(), s, snap)
		if want := []float64{.5, 0, 1}[i]; rows[0].StepTime != want {
			t.Errorf("look %d: %g s, want %g", i, rows[0].StepTime, want)
		}
	}
	if asked[0].Unix() != 50 || asked[1].Unix() != 100 || asked[2].Unix() != 100 {
		t.Errorf("asked for what is new since %v", asked)
	}
}
