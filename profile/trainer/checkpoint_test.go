package trainer

import (
	"bytes"
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"testing"

	"knee/data"
)

// TestGoesOnFromCheckpoint stops a job twice and continues it with another
// number of workers: the result equals that of an uninterrupted job.
func TestGoesOnFromCheckpoint(t *testing.T) {
	file := filepath.Join(t.TempDir(), "job.ckpt")
	last := 0
	for _, part := range []struct{ workers, steps int }{{1, 13}, {3, 27}, {2, 40}, {4, 40}} {
		want := runJob(t, Options{Workers: 1, LocalBatch: 24, Steps: part.steps})[0].params
		for i, e := range runJob(t, Options{Workers: part.workers, LocalBatch: 24 / float64(part.workers), Steps: part.steps, Checkpoint: file, AllRanks: true}) {
			if e.err != nil {
				t.Fatal(e.err)
			}
			lines := parseLines(t, e.out)
			if len(lines) != part.steps-last || len(lines) > 0 && lines[0].Step != last+1 {
				t.Fatalf("rank %d made %d steps from %d to %d", i, len(lines), last, part.steps)
			}
			if d := furthest(e.params, want); d > 1e-10 {
				t.Errorf("after %d steps the parameters of rank %d of %d are %g off", part.steps, i, part.workers, d)
			}
		}
		last = part.steps
	}
}

// TestCheckpointOfTheStopped checks that a stopped job saves its complete
// steps.
func TestCheckpointOfTheStopped(t *testing.T) {
	file := filepath.Join(t.TempDir(), "job.ckpt")
	ctx, stop := context.WithCancel(t.Context())
	out := writerFunc(func(b []byte) {
		if bytes.Contains(b, []byte(`"step":17,`)) {
			stop()
		}
	})
	if err := Run(ctx, Options{Checkpoint: file}, out, io.Discard); !errors.Is(err, context.Canceled) {
		t.Fatal(err)
	}
	m, _ := newModel("small", 0)
	if step, err := readCheckpoint(file, make([]float64, m.size)); step != 17 || err != nil {
		t.Errorf("the checkpoint is of step %d, %v", step, err)
	}
}

func TestBadCheckpoints(t *testing.T) {
	dir := t.TempDir()
	cut, other := filepath.Join(dir, "cut"), filepath.Join(dir, "other")
	if err := os.WriteFile(cut, []byte("knee"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := writeCheckpoint(other, 3, make([]float64, 5)); err != nil {
		t.Fatal(err)
	}
	compressed := filepath.Join(dir, "job.ckpt.gz")
	if err := writeCheckpoint(compressed, 3, make([]float64, 5)); err != nil {
		t.Fatal(err)
	}
	if step, err := readCheckpoint(compressed, make([]float64, 5)); step != 3 || err != nil {
		t.Errorf("the compressed checkpoint is of step %d, %v", step, err)
	}
	for _, file := range []string{cut, other} {
		var bad *data.InputError
		if err := Run(t.Context(), Options{Checkpoint: file, Steps: 1}, io.Discard, io.Discard); !errors.As(err, &bad) || bad.Source.File != file {
			t.Errorf("%s: %v", file, err)
		}
	}
	if err := Run(t.Context(), Options{Checkpoint: filepath.Join(dir, "no", "where"), Steps: 1}, io.Discard, io.Discard); err == nil {
		t.Error("a checkpoint in a folder that is not there was written")
	}
	o := Options{Mode: data.PSSync, PS: 1, PSHosts: []string{"127.0.0.1:1"}, Checkpoint: cut}
	if err := Run(t.Context(), o, io.Discard, io.Discard); err == nil {
		t.Error("servers write checkpoints")
	}
}
