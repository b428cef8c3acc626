package queuetest

import (
	"errors"
	"io"
	"slices"
	"testing"
	"time"

	"knee/data"
	"knee/operate/queue"
)

func read(t *testing.T, f *Fake) *queue.Snapshot {
	t.Helper()
	s, err := f.Read(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func at(t *testing.T, f *Fake, id string, want ...data.NodeShare) {
	t.Helper()
	if got := f.Get(id); !data.SameNodes(got.Nodes, want) {
		t.Errorf("job %s stands on %v, want %v", id, got.Nodes, want)
	}
}

// A held job leaves its nodes after some reads of the queue, waits, and runs on the
// nodes it is started on as soon as they are free.
func TestHoldAndStart(t *testing.T) {
	f := New("n1", "n2")
	f.Leave, f.Now = 2, func() time.Time { return time.Unix(7, 0) }
	f.Add("1", 2, data.NodeShare{Node: "n1", Workers: 2})
	f.Add("2", 4, data.NodeShare{Node: "n2", Workers: 4})
	one := read(t, f).Jobs[0]
	if err := f.Hold(t.Context(), one); err != nil {
		t.Fatal(err)
	}
	if err := f.Start(t.Context(), one, nil); err == nil {
		t.Error("a job that has not left its nodes was started")
	}
	read(t, f)
	at(t, f, "1", data.NodeShare{Node: "n1", Workers: 2})
	read(t, f)
	at(t, f, "1")
	if j := f.Get("1"); j.State != queue.Pending || !j.HeldByUs || j.Restarts != 1 {
		t.Errorf("%+v", j)
	}
	to := []data.NodeShare{{Node: "n2", Workers: 1}}
	if err := f.Start(t.Context(), one, to); err != nil {
		t.Fatal(err)
	}
	read(t, f)
	at(t, f, "1") // no room
	f.End("2")
	read(t, f)
	at(t, f, "1", to...)
	if j := f.Get("1"); j.Workers != 1 || j.Started.Unix() != 7 {
		t.Errorf("%+v", j)
	}
	if want := []string{"hold 1", "start 1", "start 1 n2×1"}; !slices.Equal(f.Calls, want) {
		t.Errorf("asked for %q, want %q", f.Calls, want)
	}
	if err := f.Hold(t.Context(), one); err != nil { // it runs, and ran in one
		t.Error(err)
	}
	if err := f.Hold(t.Context(), queue.Job{ID: "9"}); err == nil {
		t.Error("a job that is not there was held")
	}
}

// Nothing starts on a drained node, and a job of more workers than a node has
// gets equally many on several.
func TestRoom(t *testing.T) {
	f := New("n1", "n2", "n3")
	f.Cluster.Nodes[0].Drained = true
	f.Add("1", 8)
	f.Add("2", 1)
	f.Add("3", 1).Held = true
	read(t, f)
	at(t, f, "1", data.NodeShare{Node: "n2", Workers: 4}, data.NodeShare{Node: "n3", Workers: 4})
	at(t, f, "2")
	f.Cluster.Nodes[0].Drained = false
	read(t, f)
	at(t, f, "2", data.NodeShare{Node: "n1", Workers: 1})
	at(t, f, "3")
	if f.Free("n1") != 3 || f.Free("n2") != 0 {
		t.Errorf("%d and %d free", f.Free("n1"), f.Free("n2"))
	}
}

// A fault comes before or after the effect of a call, as an error or a panic.
func TestFaults(t *testing.T) {
	f := New("n1")
	f.Add("1", 1, data.NodeShare{Node: "n1", Workers: 1})
	broken := errors.New("socket timed out")
	for _, where := range []string{"before hold", "after hold"} {
		f.Fault = func(at string) error {
			if at == where {
				return broken
			}
			return nil
		}
		f.Get("1").Held = false
		if err := f.Hold(t.Context(), f.Get("1").Job); !errors.Is(err, broken) || f.Get("1").Held != (where == "after hold") {
			t.Errorf("%s: %v, held %t", where, err, f.Get("1").Held)
		}
	}
	f.Fault = func(at string) error { return Crashed{at} }
	defer func() {
		if why := recover(); why != (Crashed{"read"}) {
			t.Errorf("killed by %v", why)
		}
	}()
	_, _ = f.Read(t.Context())
	t.Error("a process that was killed goes on")
}

func TestLog(t *testing.T) {
	f := New("n1")
	if _, err := f.Log(t.Context(), queue.Job{ID: "1"}, "", time.Time{}); err == nil {
		t.Error("a job that printed nothing has a log")
	}
	f.Logs["1"] = "a\nb\n"
	r, err := f.Log(t.Context(), queue.Job{ID: "1"}, "", time.Time{})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := r.(io.Seeker).Seek(2, io.SeekStart); err != nil {
		t.Fatal(err)
	}
	if text, err := io.ReadAll(r); err != nil || string(text) != "b\n" {
		t.Errorf("%q, %v", text, err)
	}
}
