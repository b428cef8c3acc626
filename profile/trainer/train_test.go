package trainer

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"net"
	"os"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"knee/data"
)

// nextPort makes sure that no two jobs of this process share a port.
var nextPort atomic.Int32

// freeAddrs returns n addresses nobody listens on, below the ports of package
// launch and the ephemeral ones: a trial or an outgoing connection elsewhere
// could take one of those before its rank does.
func freeAddrs(t testing.TB, n int) []string {
	t.Helper()
	var addrs []string
	for tries := 0; len(addrs) < n; tries++ {
		port := 10_000 + (os.Getpid()*61+int(nextPort.Add(1)))%10_000
		addr := fmt.Sprintf("127.0.0.1:%d", port)
		ln, err := net.Listen("tcp", addr)
		if err != nil && tries > 1000 {
			t.Fatal(err)
		}
		if err == nil {
			ln.Close()
			addrs = append(addrs, addr)
		}
	}
	return addrs
}

// jobOptions returns the options of every rank of a job on free ports.
func jobOptions(t testing.TB, o Options) []Options {
	t.Helper()
	addrs := freeAddrs(t, o.PS+1)
	o.PSHosts = addrs[:o.PS]
	o.MasterAddr = "127.0.0.1"
	fmt.Sscanf(strings.TrimPrefix(addrs[o.PS], "127.0.0.1:"), "%d", &o.MasterPort)
	if o.Rendezvous == 0 {
		o.Rendezvous = 2 * time.Minute
	}
	var ranks []Options
	for r := range o.Workers + o.PS {
		q := o
		q.Rank = r
		if r >= o.Workers {
			q.Role, q.PSRank = Server, r-o.Workers
		}
		ranks = append(ranks, q)
	}
	return ranks
}

// ended is how one rank of a job ended.
type ended struct {
	params []float64
	out    string
	err    error
}

// runJob runs all ranks of a job in this process.
func runJob(t testing.TB, o Options) []ended {
	t.Helper()
	ranks := jobOptions(t, o)
	ends := make([]ended, len(ranks))
	var wg sync.WaitGroup
	for i, q := range ranks {
		wg.Go(func() {
			var out bytes.Buffer
			ends[i].params, ends[i].err = train(context.Background(), q, &out, io.Discard)
			ends[i].out = out.String()
		})
	}
	wg.Wait()
	return ends
}

// line is a report as a profiler reads it.
type line struct {
	Step     int      `json:"step"`
	StepTime *float64 `json:"step_time_s"`
	SyncTime *float64 `json:"sync_time_s"`
	Loss     *float64 `json:"loss"`
	GradSqr  *float64 `json:"grad_sqr"`
	GradVar  *float64 `json:"grad_var"`
}

// parseLines reads what a rank printed.
func parseLines(t testing.TB, out string) []line {
	t.Helper()
	var lines []line
	for s := range strings.Lines(out) {
		js, ok := strings.CutPrefix(s, "knee: ")
		var l line
		if err := json.Unmarshal([]byte(js), &l); !ok || err != nil {
			t.Fatalf("printed %q: %v", s, err)
		}
		lines = append(lines, l)
	}
	return lines
}

// furthest returns the largest difference between two vectors, relative to
// the largest element.
func furthest(a, b []float64) float64 {
	if len(a) != len(b) {
		return math.Inf(1)
	}
	var d, top float64
	for i := range a {
		d = max(d, math.Abs(a[i]-b[i]))
		top = max(top, math.Abs(b[i]))
	}
	return d / top
}

// TestAgreesWithOneProcess compares divisions of a global batch with a single
// process that computes the same batch at once.
func TestAgreesWithOneProcess(t *testing.T) {
	tests := []struct {
		mode    data.Mode
		k, p    int
		local   float64
		accum   int
		message int64
		perfect bool // same operations in the same order: equal bits
	}{
		{mode: data.AllReduce, k: 2, local: 12},
		{mode: data.AllReduce, k: 3, local: 8, accum: 1, message: 500_001},
		{mode: data.AllReduce, k: 5, local: 4.6}, // 23 samples over 5 workers
		{mode: data.AllReduce, k: 1, local: 8, accum: 2},
		{mode: data.PSSync, k: 1, p: 1, local: 24, perfect: true},
		{mode: data.PSSync, k: 1, p: 7, local: 24, perfect: true},
		{mode: data.PSSync, k: 3, p: 2, local: 8, message: 500_001},
		{mode: data.PSSync, k: 4, p: 3, local: 2.75, accum: 2}, // 11 samples over 4 workers
		{mode: data.PSAsync, k: 1, p: 1, local: 24, perfect: true},
		{mode: data.PSAsync, k: 1, p: 3, local: 8, accum: 2},
	}
	const steps = 6
	for _, tt := range tests {
		t.Run(fmt.Sprintf("%s-k%d-p%d-b%g-s%d", tt.mode, tt.k, tt.p, tt.local, tt.accum), func(t *testing.T) {
			o := Options{Mode: tt.mode, Workers: tt.k, PS: tt.p, LocalBatch: tt.local, AccumSteps: tt.accum, MessageBytes: tt.message, Steps: steps, Seed: 7, InitialBatch: 16}
			var out bytes.Buffer
			want, err := train(context.Background(), Options{LocalBatch: float64(o.globalBatch()), MessageBytes: tt.message, Steps: steps, Seed: 7, InitialBatch: 16}, &out, io.Discard)
			if err != nil {
				t.Fatal(err)
			}
			ends := runJob(t, o)
			checkParams(t, o, ends, want, tt.perfect)
			printer := 0
			if tt.mode == data.PSAsync {
				printer = tt.k
			}
			checkLines(t, ends, printer, parseLines(t, out.String()))
		})
	}
}

// checkParams compares every worker's parameters and the servers' slices.
func checkParams(t *testing.T, o Options, ends []ended, want []float64, perfect bool) {
	t.Helper()
	tol := 1e-10
	if perfect {
		tol = 0
	}
	var slices []float64
	for r, e := range ends {
		if e.err != nil {
			t.Fatalf("rank %d: %v", r, e.err)
		}
		if r >= o.Workers {
			slices = append(slices, e.params...)
		} else if d := furthest(e.params, want); d > tol {
			t.Errorf("rank %d: parameters differ by %g from those of one process", r, d)
		}
		if r < o.Workers && furthest(e.params, ends[0].params) != 0 {
			t.Errorf("rank %d and rank 0 hold different parameters", r)
		}
	}
	if o.PS > 0 && furthest(slices, ends[0].params) != 0 {
		t.Error("the servers' slices are not the workers' parameters")
	}
}

// checkLines compares what was printed, times excepted.
func checkLines(t *testing.T, ends []ended, printer int, want []line) {
	t.Helper()
	near := func(a, b *float64) bool {
		return (a == nil) == (b == nil) && (a == nil || math.Abs(*a-*b) <= 1e-9*math.Abs(*b))
	}
	for r, e := range ends {
		if r != printer && e.out != "" {
			t.Errorf("rank %d printed %q, want only rank %d to print", r, e.out, printer)
		}
	}
	got := parseLines(t, ends[printer].out)
	if len(got) != len(want) {
		t.Fatalf("%d lines, want %d", len(got), len(want))
	}
	for i, g := range got {
		w := want[i]
		if g.Step != i+1 || g.StepTime == nil || !(*g.StepTime > 0) {
			t.Errorf("line %d: step %d, step time %v", i, g.Step, g.StepTime)
		}
		if !near(g.Loss, w.Loss) || !near(g.GradSqr, w.GradSqr) || !near(g.GradVar, w.GradVar) {
			t.Errorf("step %d: loss, grad_sqr, grad_var differ from those of one process:\n%s", g.Step, ends[printer].out)
		}
	}
}

func TestAsyncCountsUpdatesOfAllWorkers(t *testing.T) {
	for _, steps := range []int{2, 25} { // fewer than workers, and more
		ends := runJob(t, Options{Mode: data.PSAsync, Workers: 3, PS: 2, LocalBatch: 8, Steps: steps})
		for r, e := range ends {
			if e.err != nil {
				t.Fatalf("rank %d: %v", r, e.err)
			}
		}
		lines := parseLines(t, ends[3].out)
		if len(lines) != steps {
			t.Fatalf("%d updates, want %d", len(lines), steps)
		}
		for i, l := range lines {
			if l.Step != i+1 || l.StepTime == nil || l.Loss == nil {
				t.Errorf("line %d: %+v", i, l)
			}
		}
	}
}

func TestLossFalls(t *testing.T) {
	for _, o := range []Options{
		{LocalBatch: 32},
		{LocalBatch: 16, MessageBytes: 1 << 20},
		{LocalBatch: 8, Mode: data.PSAsync, Workers: 3, PS: 1, Steps: 540},
		{LocalBatch: 512, Steps: 30},
		{LocalBatch: 512, Steps: 30, Model: "large"}, // a rate too large for the curvature would show here
	} {
		o.Workers, o.Steps = cmp.Or(o.Workers, 1), cmp.Or(o.Steps, 180)
		ends := runJob(t, o)
		lines := parseLines(t, ends[len(ends)-1].out)
		mean := func(ls []line) (sum float64) {
			for _, l := range ls {
				sum += *l.Loss / float64(len(ls))
			}
			return sum
		}
		if first := *lines[0].Loss; math.Abs(first-math.Log(classes)) > 1e-9 {
			t.Errorf("%+v: the loss begins at %.3f, want that of a guess, ln %d", o, first, classes)
		}
		n := len(lines) / 6
		first, last := mean(lines[:n]), mean(lines[len(lines)-n:])
		if !(last < 0.85*first) {
			t.Errorf("%+v: loss went from %.3f to %.3f, want a fall by at least 15 %%", o, first, last)
		}
		for i := 1; i < 6 && o.Mode != data.PSAsync; i++ { // asynchronous updates depend on timing
			before, now := mean(lines[(i-1)*n:i*n]), mean(lines[i*n:(i+1)*n])
			if now > 1.05*before {
				t.Errorf("%+v: loss rose from %.3f to %.3f in part %d of 6", o, before, now, i+1)
			}
		}
	}
}

func TestRunsRepeatExactly(t *testing.T) {
	o := Options{Mode: data.AllReduce, Workers: 4, LocalBatch: 6, Steps: 4, Seed: 3}
	a, b := runJob(t, o), runJob(t, o)
	if !slices.Equal(a[0].params, b[0].params) {
		t.Error("two runs of one job ended with different parameters")
	}
	o.Seed = 4
	if c := runJob(t, o); slices.Equal(a[0].params, c[0].params) {
		t.Error("another seed gave the same parameters")
	}
}

func TestStopsWithContext(t *testing.T) {
	for _, mode := range data.Modes() {
		o := Options{Mode: mode, Workers: 2, LocalBatch: 8}
		if mode.UsesPS() {
			o.PS = 1
		}
		ctx, cancel := context.WithCancelCause(context.Background())
		defer cancel(nil)
		enough := causeError("enough")
		ranks := jobOptions(t, o)
		errs := make(chan error, len(ranks))
		for _, q := range ranks {
			go func() {
				errs <- Run(ctx, q, writerFunc(func(b []byte) {
					if strings.Contains(string(b), `"step":5,`) {
						cancel(enough)
					}
				}), io.Discard)
			}()
		}
		for range ranks {
			if err := <-errs; err != error(enough) {
				t.Errorf("%s: ended with %v, want the cause %q", mode, err, enough)
			}
		}
	}
}

type causeError string

func (e causeError) Error() string { return string(e) }

type writerFunc func([]byte)

func (f writerFunc) Write(b []byte) (int, error) { f(b); return len(b), nil }

// A worker that waits for its input takes at least the time the input takes.
func TestInputRate(t *testing.T) {
	o := Options{LocalBatch: 20, InputRate: 1000, Steps: 5, Seed: 1}
	start := time.Now()
	if _, err := train(t.Context(), o, io.Discard, io.Discard); err != nil {
		t.Fatal(err)
	}
	if took := time.Since(start); took < 100*time.Millisecond {
		t.Errorf("100 samples at 1000 samples/s took %v, want at least 100 ms", took)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	o.InputRate = 0.001
	if _, err := train(ctx, o, io.Discard, io.Discard); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("err = %v, want the wait to end with the context", err)
	}
}
